"""Predictors by name.

Three are always there: `gradient boosting`, `extra trees` and `nearest neighbours`. Two are
pretrained networks, `tabicl` and `tabpfn`, whose package must be installed and whose weights must
be on the disk. Nothing is downloaded; `docs/how-to/learners.md` says how to get the weights.

A fit of the first three takes one thread, so that results do not depend on the number of cores;
`run_together` runs several fits at once.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabpe._utils.extras import require_report_extra
from tabpe._utils.resources import count_usable_cores
from tabpe._utils.validation import check_one_of
from tabpe.errors import ParameterError
from tabpe.evaluation.table_arrays import (
    Cells,
    Floats,
    LabeledExamples,
    encode_features,
    encode_filled_features,
    encode_for_distances,
    is_listed,
)

FOLDER = "TABPE_WEIGHTS"
TABICL = {
    False: "tabicl-classifier-v2-20260212.ckpt",
    True: "tabicl-regressor-v2-20260212.ckpt",
}
TABPFN = Path("models_diff", "prior_diff_real_checkpoint_n_0_epoch_42.cpkt")
BEYOND = {"tabpfn": (0, 2), "torch": (2, 6), "scikit-learn": (1, 8)}
_HOW = "docs/how-to/learners.md says how to get it"


def explain_missing_tabicl(*, regression: bool) -> str | None:
    """Return why TabICL can not be used and what to do; None if it can."""
    if importlib.util.find_spec("tabicl") is None:
        return f"the package tabicl is not installed: {_HOW}."
    name = TABICL[regression]
    if _find_tabicl_weights(name) is None:
        return f"{name} is neither in ${FOLDER} nor in the cache of Hugging Face: {_HOW}."
    return None


def make_tabicl(random_state: int | None, *, regression: bool) -> Any:
    """Return TabICL with the weights on this machine."""
    from tabicl import TabICLClassifier, TabICLRegressor

    kind = TabICLRegressor if regression else TabICLClassifier
    path = _find_tabicl_weights(TABICL[regression])
    return kind(model_path=path, allow_auto_download=False, random_state=random_state)


def _find_tabicl_weights(name: str) -> Path | None:
    given = _find_given_file(Path(name))
    if given is not None:
        return given
    hub = importlib.import_module("huggingface_hub")
    found = hub.try_to_load_from_cache("jingang/TabICL", name)
    return Path(found) if isinstance(found, str) else None


def explain_missing_tabpfn() -> str | None:
    """Return why TabPFN can not be used and what to do; None if it can."""
    if importlib.util.find_spec("tabpfn") is None:
        return f"the package tabpfn is not installed: {_HOW}."
    for name, least in BEYOND.items():
        if tuple(map(int, metadata.version(name).split(".")[:2])) >= least:
            return f"it does not work with this version of {name}: {_HOW}."
    if _find_tabpfn_folder() is None:
        return f"{TABPFN.name} is neither in ${FOLDER} nor with the package: {_HOW}."
    return None


def make_tabpfn(random_state: int | None) -> Any:
    """Return TabPFN version 1 with the weights on this machine."""
    from tabpfn import TabPFNClassifier

    return TabPFNClassifier(device="cpu", base_path=_find_tabpfn_folder(), seed=random_state or 0)


def _find_tabpfn_folder() -> Path | None:
    if _find_given_file(TABPFN) is not None:
        return Path(os.environ[FOLDER])
    spec = importlib.util.find_spec("tabpfn")
    home = Path(spec.origin).parent if spec is not None and spec.origin else None
    return home if home is not None and (home / TABPFN).is_file() else None


def _find_given_file(name: Path) -> Path | None:
    """Return a file of the folder in the environment variable, if it is there."""
    folder = os.environ.get(FOLDER)
    path = Path(folder, name) if folder else None
    return path if path is not None and path.is_file() else None


T = TypeVar("T")
Model = Any
Make = Callable[[LabeledExamples, int | None], Model]
Encode = Callable[[Sequence[Cells]], NDArray[Any]]
MOST_TREES = 1500
# Without a penalty the steps for rare classes are so large that dozens of classes are never
# learned; XGBoost has this one too. Early stopping holds rows out: a class may have but one.
STEADY = {"l2_regularization": 1.0, "early_stopping": False}
NEIGHBOURS = 5
_ALONE = Lock()  # networks draw from a generator that all threads share


@dataclass(frozen=True)
class LearnerSpec:
    """A predictor.

    Args:
        encode: Makes an array of the features of each row.
        classifier: Makes a model that predicts classes, for examples and a seed.
        regressor: The same for numbers; None if there is none.
        explain_missing: Returns why it can not be used and what to do; None if it can.
        most_rows: The most rows that it is trained on.
        most_features: The most features that it supports.
        most_classes: The most classes that it supports.
        threads: Threads of a fit; None for any number, while no other of its kind runs.
    """

    encode: Encode
    classifier: Make
    regressor: Make | None = None
    explain_missing: Callable[[LabeledExamples], str | None] = lambda _: None
    most_rows: int | None = None
    most_features: int | None = None
    most_classes: int | None = None
    threads: int | None = 1


def learner_names() -> tuple[str, ...]:
    """Return the names of all predictors, installed or not.

    Example:
        >>> learner_names()
        ('gradient boosting', 'extra trees', 'nearest neighbours', 'tabicl', 'tabpfn')
    """
    return tuple(_LEARNERS)


def explain_unusable(name: str, train: LabeledExamples) -> str | None:
    """Return why a predictor can not be used here and what to do, or None if it can.

    Raises:
        ParameterError: If there is no predictor of that name.
    """
    learner = _LEARNERS[check_one_of("learner", name, learner_names())]
    if train.classes is None and learner.regressor is None:
        return f"{name} predicts classes and not numbers: name another learner."
    most = learner.most_features
    if most is not None and len(train.features) > most:
        return f"{name} supports at most {most} features, and there are {len(train.features)}."
    most = learner.most_classes
    if most is not None and train.classes is not None and len(train.present) > most:
        return f"{name} supports at most {most} classes, and there are {len(train.present)}."
    return learner.explain_missing(train)


def predict_target(
    name: str, train: LabeledExamples, test: LabeledExamples, *, random_state: int | None = 0
) -> Floats:
    """Train a predictor on some rows and return its predictions for others.

    Args:
        name: Its name, of `learner_names()`.
        train: At least one row, with at least one feature.
        test: The rows to predict; their targets are not read.
        random_state: Seed of everything random.

    Returns:
        For a number: one prediction per row. For classes: a row of probabilities, one for each
        class that `train` may hold.

    Raises:
        ParameterError: If there is no such predictor, or it can not be used.
    """
    reason = explain_unusable(name, train)
    if reason is not None:
        raise ParameterError(f"learner={name!r}: {reason}")
    learner = _LEARNERS[name]
    train = train.sample_rows(learner.most_rows, np.random.default_rng(random_state))
    make = learner.classifier if train.classes is not None else learner.regressor
    assert make is not None  # noqa: S101  # checked by `explain_unusable`
    how: dict[str, Any] = {"encode": learner.encode, "threads": learner.threads}
    return fit_and_predict(make, train, test, random_state=random_state, **how)


def fit_and_predict(
    make: Make,
    train: LabeledExamples,
    test: LabeledExamples,
    *,
    random_state: int | None,
    encode: Encode = encode_features,
    threads: int | None = 1,
) -> Floats:
    """Make a model, fit it and return its predictions, as `predict_target` does."""
    require_report_extra("a predictor")
    from threadpoolctl import threadpool_limits

    seen = [not cells.missing.all() for cells in train.features]
    train, test = train.select_features(seen), test.select_features(seen)
    if not any(seen) or (train.classes is not None and len(train.present) == 1):
        return predict_uninformed(train, len(test))
    model = make(train, random_state)
    with _ALONE if threads is None else threadpool_limits(threads, user_api="openmp"):
        model.fit(encode(train.features), train.target)
        if train.classes is None:
            return np.asarray(model.predict(encode(test.features)), dtype=np.float64)
        probabilities = np.zeros((len(test), train.classes))
        probabilities[:, model.classes_] = model.predict_proba(encode(test.features))
    return probabilities


def predict_uninformed(train: LabeledExamples, rows: int) -> Floats:
    """Return predictions by the distribution of the target alone."""
    if train.classes is None:
        return np.full(rows, train.target.mean())
    shares = np.bincount(train.target, minlength=train.classes) / len(train)
    return np.tile(shares, (rows, 1))


def run_together(tasks: Iterable[Callable[[], T]], jobs: int | None = None) -> list[T]:
    """Return the results of tasks in order; `jobs` run at once, None for one per core."""
    with warnings.catch_warnings(), ThreadPoolExecutor(jobs or count_usable_cores()) as pool:
        # scikit-learn takes many classes for a number. The schema says that they are classes.
        warnings.filterwarnings("ignore", "The number of unique classes is greater than 50%")
        return list(pool.map(lambda task: task(), tasks))


def make_boosted_trees(train: LabeledExamples, random_state: int | None, **settings: Any) -> Model:
    """Return gradient boosting that splits columns by sets of categories where it can."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = (
        HistGradientBoostingRegressor if train.classes is None else HistGradientBoostingClassifier
    )
    listed = [is_listed(cells) for cells in train.features]
    return kind(categorical_features=listed, random_state=random_state, **(STEADY | settings))


def boosting_settings(trees: int) -> dict[str, Any]:
    """Return the settings of gradient boosting for a number of trees per step (one per class).

    A hundred steps; fewer and larger ones if there are many classes. Each split sees half of the
    features: where only several columns together are informative, all first splits look alike, and
    trees that see all features keep taking the same wrong one.
    """
    steps = min(100, max(10, MOST_TREES // trees))
    pace = {"max_iter": steps, "learning_rate": min(0.3, 10 / steps)}
    return STEADY | pace | {"max_leaf_nodes": 63, "max_features": 0.5}


def _make_boosting(train: LabeledExamples, random_state: int | None) -> Model:
    trees = 1 if train.classes is None else len(train.present)
    return make_boosted_trees(train, random_state, **boosting_settings(trees))


def make_extra_trees(train: LabeledExamples, random_state: int | None, **settings: Any) -> Model:
    """Return a hundred trees with random splits."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = ExtraTreesRegressor if train.classes is None else ExtraTreesClassifier
    return kind(100, random_state=random_state, n_jobs=1, **settings)


def _make_neighbors(train: LabeledExamples, random_state: int | None) -> Model:  # noqa: ARG001
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    kind = KNeighborsRegressor if train.classes is None else KNeighborsClassifier
    return kind(min(NEIGHBOURS, len(train)), algorithm="brute")


_LEARNERS = {
    "gradient boosting": LearnerSpec(encode_features, _make_boosting, _make_boosting),
    "extra trees": LearnerSpec(encode_filled_features, make_extra_trees, make_extra_trees),
    "nearest neighbours": LearnerSpec(encode_for_distances, _make_neighbors, _make_neighbors),
    "tabicl": LearnerSpec(
        encode_features,
        lambda _, seed: make_tabicl(seed, regression=False),
        lambda _, seed: make_tabicl(seed, regression=True),
        lambda train: explain_missing_tabicl(regression=train.classes is None),
        threads=None,
    ),
    "tabpfn": LearnerSpec(
        encode_features,
        lambda _, seed: make_tabpfn(seed),
        explain_missing=lambda _: explain_missing_tabpfn(),
        most_rows=1000,
        most_features=100,
        most_classes=10,
        threads=None,
    ),
}
