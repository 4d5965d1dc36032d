"""Synthetic tables that a custodian must not sign, made from a real one."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

Frame = pd.DataFrame


def shuffle_columns(real: Frame, rng: np.random.Generator, _label: str | None = None) -> Frame:
    """Return the real columns, each shuffled by itself."""
    return pd.DataFrame({name: rng.permutation(real[name].to_numpy()) for name in real})


def shuffle_within_class(real: Frame, rng: np.random.Generator, label: str | None) -> Frame:
    """Return columns shuffled within each class of the label; of the first category without one."""
    by = label or real.select_dtypes(exclude="number").columns[0]
    parts = [shuffle_columns(part, rng) for _, part in real.groupby(by, observed=True)]
    return pd.concat(parts, ignore_index=True)[list(real)]


def jitter_copies(share: float) -> Callable[..., Frame]:
    """Return a maker of real rows with noise of a share of the deviation on every number."""

    def jitter(real: Frame, rng: np.random.Generator, _label: str | None = None) -> Frame:
        made = real.copy()
        for name in _list_numbers(real):
            cells = real[name].to_numpy(float)
            whole = pd.api.types.is_integer_dtype(real[name])
            step = share * np.nanstd(cells)
            noise = rng.normal(0, step, len(cells))
            noise = np.sign(noise) * np.ceil(np.abs(noise)) if whole else noise
            moved = np.clip(cells + noise, np.nanmin(cells), np.nanmax(cells))
            made[name] = moved.astype(real[name].dtype) if whole else moved.round(1)
        return made

    return jitter


def copy_rows(real: Frame, _rng: np.random.Generator, _label: str | None = None) -> Frame:
    """Return the real rows."""
    return real.copy()


def repeat_few_rows(real: Frame, rng: np.random.Generator, _label: str | None = None) -> Frame:
    """Return 50 real rows, a hundred times each."""
    return real.iloc[np.repeat(rng.choice(len(real), 50, replace=False), 100)].reset_index(
        drop=True
    )


def set_constant_label(real: Frame, _rng: np.random.Generator, label: str | None) -> Frame:
    """Return real rows with the most common label everywhere."""
    name = label or list(real)[-1]
    return real.assign(**{name: real[name].mode()[0]})


def permute_labels(real: Frame, rng: np.random.Generator, label: str | None) -> Frame:
    """Return real rows with the labels of other rows."""
    name = label or list(real)[-1]
    return real.assign(**{name: rng.permutation(real[name].to_numpy())})


def drop_mode(real: Frame, rng: np.random.Generator, label: str | None) -> Frame:
    """Return resampled rows without one mode: the second most common value of a category."""
    names = [name for name in real.select_dtypes(exclude="number") if name != label]
    shares = {name: real[name].value_counts(normalize=True) for name in names}
    wide = [name for name in names if len(shares[name]) > 2] or names
    name = wide[0]
    return _resample(real[real[name] != shares[name].index[1]], len(real), rng)


def drop_rare_category(real: Frame, rng: np.random.Generator, label: str | None) -> Frame:
    """Return resampled rows without a category of a few percent."""
    for name in real.select_dtypes(exclude="number"):
        shares = real[name].value_counts(normalize=True)
        rare = shares[(shares > 0.01) & (shares < 0.2)]
        if name != label and len(rare):
            return _resample(real[real[name] != rare.index[-1]], len(real), rng)
    raise ValueError("no rare category")


def draw_marginals(real: Frame, rng: np.random.Generator, _label: str | None = None) -> Frame:
    """Return rows drawn from each column's distribution by itself."""
    return pd.DataFrame({name: rng.choice(real[name].to_numpy(), len(real)) for name in real})


def set_constant_column(real: Frame, _rng: np.random.Generator, label: str | None) -> Frame:
    """Return real rows with one value in the first number."""
    name = next(name for name in _list_numbers(real) if name != label)
    return real.assign(**{name: real[name].mode()[0]})


def draw_other_table(real: Frame, rng: np.random.Generator, _label: str | None = None) -> Frame:
    """Return a table with the same schema: every value of a column is equally likely."""
    return pd.DataFrame(
        {name: rng.choice(real[name].dropna().unique(), len(real)) for name in real}
    )


def _list_numbers(real: Frame) -> list[str]:
    return [name for name in real.select_dtypes("number") if real[name].dtype != bool]


def _resample(real: Frame, rows: int, rng: np.random.Generator) -> Frame:
    return real.iloc[rng.integers(0, len(real), rows)].reset_index(drop=True)


BAD_TABLES: Mapping[str, Callable[..., Frame]] = {
    "shuffled columns": shuffle_columns,
    "shuffled within class": shuffle_within_class,
    "copies, jittered a little": jitter_copies(0.01),
    "copies, jittered": jitter_copies(0.05),
    "copies, jittered a lot": jitter_copies(0.1),
    "exact copies": copy_rows,
    "50 rows, 100 times": repeat_few_rows,
    "constant label": set_constant_label,
    "permuted labels": permute_labels,
    "a mode dropped": drop_mode,
    "a rare category dropped": drop_rare_category,
    "independent marginals": draw_marginals,
    "a constant column": set_constant_column,
    "another table": draw_other_table,
}


def jitter_few_copies(real: Frame, other: Frame, rng: np.random.Generator) -> Frame:
    """Return other rows, a tenth of which are real rows with a little noise."""
    copies = jitter_copies(0.02)(real, rng)
    return _mix(copies, other, len(other) // 10)


def copy_half(real: Frame, other: Frame, _rng: np.random.Generator) -> Frame:
    """Return other rows, half of which are real rows."""
    return _mix(real, other, len(other) // 2)


def repeat_rows(_real: Frame, other: Frame, _rng: np.random.Generator) -> Frame:
    """Return half of the other rows twice."""
    half = other.iloc[: len(other) // 2]
    return pd.concat([half, half], ignore_index=True)


def invent_dependence(_real: Frame, other: Frame, _rng: np.random.Generator) -> Frame:
    """Return other rows in which one number follows another."""
    first, second = _list_numbers(other)[:2]
    cells = np.empty(len(other), dtype=other[second].dtype)
    cells[np.argsort(other[first].to_numpy(), kind="stable")] = np.sort(other[second].to_numpy())
    return other.assign(**{second: cells})


def round_to_tens(_real: Frame, other: Frame, _rng: np.random.Generator) -> Frame:
    """Return other rows with the first number rounded to tens."""
    name = _list_numbers(other)[0]
    return other.assign(**{name: (other[name] // 10 * 10).astype(other[name].dtype)})


def shuffle_one_class(other: Frame, rng: np.random.Generator, label: str) -> Frame:
    """Return other rows; those of the rarest class have their columns shuffled."""
    rare = other[label] == other[label].value_counts().index[-1]
    shuffled = shuffle_columns(other[rare], rng)
    return pd.concat([other[~rare], shuffled], ignore_index=True)


def shuffle_number_within_class(other: Frame, rng: np.random.Generator, label: str) -> Frame:
    """Return other rows with the first number of other rows of the same class."""
    name = next(name for name in _list_numbers(other) if name != label)
    cells = other.groupby(label, observed=True)[name].transform(
        lambda same: rng.permutation(same.to_numpy())
    )
    return other.assign(**{name: cells})


def _mix(first: Frame, second: Frame, rows: int) -> Frame:
    return pd.concat([first.iloc[:rows], second.iloc[rows:]], ignore_index=True)


# Made from real rows and from other real rows; no model is needed to see what is wrong.
PARTLY_BAD_TABLES: Mapping[str, Callable[[Frame, Frame, np.random.Generator], Frame]] = {
    "a few copies, jittered": jitter_few_copies,
    "half copies": copy_half,
    "repeated rows": repeat_rows,
    "an invented dependence": invent_dependence,
    "rounded numbers": round_to_tens,
}
