"""`TabPE`: a user-level guarantee, who may have many rows."""

import math
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest

from facade import (
    BOTH,
    ESTIMATED,
    FAST,
    QUICK_BEST,
    SCHEMA,
    USERS,
    buying_fit,
    fake_fit,
    fitted,
    of_people,
    spends,
)
from tabpe import Adjacency, TabPE
from tabpe.accounting import FakeNoise
from tabpe.accounting.neighboring import FIXED_POINT
from tabpe.backends import LocalBackend
from tabpe.backends.queries import (
    ClassCountQuery,
    MarginalQuery,
    RawRowCountQuery,
    RowCountQuery,
    ValueQuery,
    VoteQuery,
)
from tabpe.errors import DataError, NotPrivateWarning, ParameterError
from tabpe.io import batches

MOST = USERS["max_rows_per_user"]


@pytest.fixture(scope="module")
def people():
    return of_people()


@BOTH
def test_the_certificate_says_who_is_protected_and_how(people, preset):
    certificate = fitted(people, **USERS, preset=preset).certificate
    assert certificate.unit == "person"
    assert certificate.neighbours.max_rows == MOST
    assert certificate.neighbours.meaning == (
        "tables that differ by adding or removing all rows of one user"
    )
    assert certificate.sampling_delta > 0
    assert 0.99 * 8 < certificate.epsilon <= 8
    assert f"of each user at most {MOST} of the rows count" in " ".join(certificate.notes)
    assert "fixed point" in certificate.accountant
    assert "person" in str(certificate)


@BOTH
def test_another_user_in_the_place_of_one_takes_more_noise(people, preset):
    less = fitted(people, **USERS, preset=preset).certificate
    more = fitted(people, **USERS, preset=preset, adjacency="replace-one").certificate
    assert more.neighbours.adjacency is Adjacency.REPLACE_ONE
    assert "same number of users" in more.neighbours.meaning
    for one, other in zip(less.spends, more.spends, strict=True):
        assert other.sigma == pytest.approx(math.sqrt(2) * one.sigma, rel=0.01)


@BOTH
@pytest.mark.parametrize("changes", [USERS, USERS | ESTIMATED], ids=["declared", "estimated"])
def test_the_noise_is_that_of_the_spends_times_the_parts_of_a_fixed_point(people, changes, preset):
    drawn = []

    class Noting(FakeNoise):
        """Notes the scale of what is drawn."""

        def draw(self, size, sigma):
            """Draw."""
            drawn.append(sigma)
            return super().draw(size, sigma)

    model = fit_over(people, changes | {"preset": preset}, noise=Noting(1))
    # All votes of a row are in one histogram, which is drawn at once.
    each = {"votes": preset.votes}
    scales = [
        item.sigma * FIXED_POINT
        for item in model.certificate.spends
        for _ in range(item.times // each.get(item.name, 1))
    ]
    assert drawn == scales


@pytest.mark.parametrize(("epsilon", "most"), [(4.0, MOST), (8.0, 10)])
def test_users_are_counted_apart_from_classes(people, epsilon, most):
    noisy = {"delta": None, "n_samples": None, "epsilon": epsilon, "max_rows_per_user": most}
    users = USERS | noisy | {"preset": "paper"}
    model = fake_fit(people, noise=FakeNoise(strength=0), **users)
    assert spends(model) == ["user count", "class counts", "votes"]
    users = len(set(people["person"].to_pylist()))
    assert f"noisy number of users: {users:,}" in " ".join(model.certificate.notes)
    assert model.n_evolved_ == round(users / 10)


def test_ids_that_no_row_has_are_no_users(people):
    frame = people.to_pandas().astype({"person": "category"})
    few = frame[frame["person"].isin([f"p{number}" for number in range(60)])]
    model = fake_fit(
        few, noise=FakeNoise(strength=0), **USERS, delta=1e-6, n_samples=None, public_shares=None
    )
    assert f"noisy number of users: {few['person'].nunique()} " in " ".join(model.certificate.notes)


def test_ids_of_any_kind_give_the_same_rows(people):
    numbers = [int(name[1:]) for name in people["person"].to_pylist()]
    place = people.schema.get_field_index("person")
    kinds = {
        "dictionary": people["person"].dictionary_encode(),
        "chunks": pa.chunked_array([people["person"].chunk(0)[:7], people["person"].chunk(0)[7:]]),
    }
    expected = fake_fit(people, **USERS).sample()
    for ids in kinds.values():
        assert fake_fit(people.set_column(place, "person", ids), **USERS).sample().equals(expected)
    whole = pa.array(numbers)
    stored = [whole, whole.cast(pa.float64()), whole.cast(pa.string()), whole.cast(pa.int32())]
    found = [fake_fit(people.set_column(place, "person", ids), **USERS).sample() for ids in stored]
    assert all(one.equals(found[0]) for one in found[1:])


@pytest.mark.parametrize(
    "changes", [USERS, USERS | ESTIMATED, USERS | {"preset": QUICK_BEST}], ids=str
)
def test_engines_threads_and_batches_change_nothing(people, monkeypatch, changes):
    def fit(**machine):
        return fit_over(people, changes | machine, noise=FakeNoise(4))

    expected = fit(engine="local", n_jobs=1)
    machines = [
        {"engine": "local", "n_jobs": 3},
        {"engine": "stream"},
        {"engine": "stream", "spill": False},
    ]
    for size in (batches.ROWS_A_BATCH, 7, 64):
        monkeypatch.setattr(batches, "ROWS_A_BATCH", size)
        for machine in machines:
            model = fit(**machine)
            assert model.sample().equals(expected.sample())
            assert model.certificate.spends == expected.certificate.spends


@contextmanager
def recorded(replay=None):
    """Note every exact answer, and give those of an earlier run to the search.

    So a run over another table goes the same way, and each question is the same one.
    """
    answers, ask = [], LocalBackend.answer

    def noting(backend, query):
        answers.append((type(query), ask(backend, query)))
        return answers[-1][1] if replay is None else replay[len(answers) - 1][1]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(LocalBackend, "answer", noting)
        yield answers


def fit_over(table, changes, noise=None):
    model = TabPE(**(FAST | changes | {"noise": noise or FakeNoise(strength=0)}))
    with pytest.warns(NotPrivateWarning):
        return model.fit(table, None if "schema" in changes else SCHEMA)


def histograms(kind, answer):
    """The histograms of an answer, each as counts by cell; one is charged for by itself."""
    found = answer.value
    if kind is VoteQuery:
        yield dict(enumerate(np.concatenate(found).tolist()))
    elif kind is MarginalQuery:
        yield from (dict(enumerate(counts.tolist())) for counts in found)
    elif not isinstance(found, dict):
        yield dict(enumerate(found.tolist()))
    else:
        for _, counts in sorted(found.items()):
            yield counts if isinstance(counts, dict) else dict(enumerate(counts.tolist()))


def moves(first, second):
    """How far each histogram moves between two runs: squared length, and number of cells."""
    assert [name for name, _ in first] == [name for name, _ in second]
    for (name, one), (_, other) in zip(first, second, strict=True):
        for before, after in zip(histograms(name, one), histograms(name, other), strict=True):
            steps = [after.get(cell, 0) - before.get(cell, 0) for cell in {*before, *after}]
            yield name, sum(step**2 for step in steps) / FIXED_POINT**2, np.count_nonzero(steps)


def without(table, person):
    return table.filter([name != person for name in table["person"].to_pylist()])


def with_other_rows(table, person, seed):
    """Another user in the place of one, with rows as unlike as they come."""
    other = of_people(seed=seed).slice(0, 37).drop_columns(["person"])
    other = other.append_column("person", pa.array([f"new{seed}"] * 37))
    return pa.concat_tables([without(table, person), other])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("changes", [USERS, USERS | ESTIMATED], ids=["declared", "estimated"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@BOTH
def test_one_user_moves_every_histogram_of_a_run_by_its_length_at_most(
    seed, changes, adjacency, preset
):
    table, rng = of_people(seed=seed), np.random.default_rng(seed)
    changes = changes | {"delta": 1e-5, "n_samples": None, "adjacency": adjacency}
    changes["preset"] = preset
    with recorded() as first:
        fit_over(table, changes)
    frequent = [f"p{number}" for number in range(2)]
    gone = [*frequent, *rng.choice(table["person"].to_pylist(), 3)]
    replaced = adjacency == "replace-one"
    longest = dict.fromkeys((ClassCountQuery, VoteQuery), 0.0)
    for person in gone:
        near = with_other_rows(table, person, seed) if replaced else without(table, person)
        with recorded(replay=first) as second:
            fit_over(near, changes)
        for name, squared, cells in moves(first, second):
            # Several votes are as many histograms among the spends.
            times = preset.votes if name is VoteQuery else 1
            assert squared <= times * (2 if replaced else 1), name
            assert cells <= MOST * times * (2 if replaced else 1), name
            longest[name] = max(longest.get(name, 0.0), squared / times)
    asked = {name for name, _ in first}
    assert asked >= {ClassCountQuery, VoteQuery}
    assert asked & {RowCountQuery, RawRowCountQuery}
    assert (ValueQuery in asked) == ("schema" in changes)
    assert (MarginalQuery in asked) == (preset is QUICK_BEST)
    # Or else nothing was looked at.
    assert max(longest.values()) > (1.0 if replaced else 0.98)
    assert min(longest[VoteQuery], longest[ClassCountQuery]) > 0.2


@pytest.mark.parametrize("changes", [{}, ESTIMATED], ids=["declared", "estimated"])
@pytest.mark.parametrize(
    ("users", "error", "message"),
    [
        ({"unit": "age"}, ParameterError, "unit='age': is a column of the schema too"),
        ({"unit": "ill"}, ParameterError, "unit='ill': is a column of the schema too"),
        ({"unit": "persons"}, DataError, "unit='persons': .* did you mean 'person'"),
        ({"unit": ""}, ParameterError, "unit=''"),
        ({"unit": 5}, ParameterError, "unit=5"),
        ({"max_rows_per_user": 3}, ParameterError, "max_rows_per_user=3: needs unit"),
        ({"unit": "person", "max_rows_per_user": 0}, ParameterError, "max_rows_per_user=0"),
        ({"unit": "person", "max_rows_per_user": 1.5}, ParameterError, "max_rows_per_user=1.5"),
        ({"unit": "person", "max_rows_per_user": True}, ParameterError, "max_rows_per_user=True"),
        ({"unit": "person", "max_rows_per_user": 10**9}, ParameterError, "at most 10,000"),
        ({"unit": "person", "epsilon": 50.0}, ParameterError, "smaller epsilon"),
    ],
)
def test_what_can_not_be_guaranteed_to_users_is_refused(people, changes, users, error, message):
    declared = SCHEMA if not changes or users.get("unit") == "age" else None
    with pytest.raises(error, match=message) as caught:
        TabPE(**(FAST | changes | {"epsilon": 8.0} | users)).fit(people, declared)
    assert caught.value.exit_code == 2


def with_a_missing_id(people, missing, *, dictionary):
    ids = people["person"].to_pylist()
    if isinstance(missing, float):
        ids = [float(name[1:]) for name in ids]
    ids[1234] = missing
    cells = pa.array(ids).dictionary_encode() if dictionary else pa.array(ids)
    return people.set_column(people.schema.get_field_index("person"), "person", cells)


NO_IDS = pytest.mark.parametrize("missing", [None, math.nan, "", "  "])
STORED = pytest.mark.parametrize("dictionary", [False, True])


@NO_IDS
@STORED
def test_a_row_without_an_id_counts_for_nobody(people, missing, dictionary):
    """Else all rows without an id would be those of one user."""
    table = with_a_missing_id(people, missing, dictionary=dictionary)
    others = table.filter(pa.array(np.arange(len(table)) != 1234))
    found, expected = (fake_fit(one, **USERS).sample() for one in (table, others))
    assert found.equals(expected)


@NO_IDS
@STORED
def test_in_strict_mode_an_empty_id_is_named_by_its_row_and_nothing_else(
    people, missing, dictionary
):
    table = with_a_missing_id(people, missing, dictionary=dictionary)
    with pytest.raises(DataError, match="column 'person' has no value in row 1235") as caught:
        fitted(table, **USERS, strict=True)
    assert caught.value.__context__ is None


def test_lists_are_no_ids(people):
    place = people.schema.get_field_index("person")
    listed = pa.array([[name] for name in people["person"].to_pylist()])
    with pytest.raises(DataError, match="unit='person': a column of lists"):
        fitted(people.set_column(place, "person", listed), **USERS)


def test_ids_are_in_no_row_and_no_file(people, tmp_path):
    model = buying_fit(people, **USERS)
    assert model.sample().schema.names == ["age", "bmi", "ward", "ill"]
    model.save(tmp_path / "model.tabpe")
    again = TabPE.load(tmp_path / "model.tabpe")
    assert (again.unit, again.max_rows_per_user) == ("person", MOST)
    assert again.sample().equals(model.sample())


def test_numbers_of_numpy_serve(people, tmp_path):
    users = USERS | {"max_rows_per_user": np.int64(4), "run_dir": tmp_path / "run"}
    model = fake_fit(people, **(users | {"random_state": 2**300}))
    assert '"max_rows_per_user": 4' in model.certificate.to_json()
