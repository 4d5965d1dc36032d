"""The nearest candidates: what is refused, what is taken, and how it behaves in a process."""

import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

from tabpe import native as _native
from tabpe.backends import StoredTable, nearest
from tabpe.backends.nearest import NumpyIndex
from tabpe.encoding import Records
from tabpe.errors import ParameterError, SlowVotesWarning

WEIGHT = 1 / 3
native = pytest.mark.skipif(_native.search is None, reason="the native votes are not installed")


def drawn(size, numeric=3, categorical=2, seed=0, code_type=np.uint8):
    rng = np.random.default_rng(seed)
    return Records(
        rng.random((size, numeric)).astype(np.float32),
        rng.integers(0, 4, (size, categorical)).astype(code_type),
    )


def with_number(records, value):
    numbers = records.numbers.copy()
    numbers[len(numbers) // 2, 1] = value
    return Records(numbers, records.codes)


@pytest.fixture
def numpy_only(monkeypatch):
    """As if the extension were not installed, and nobody had been told yet."""
    monkeypatch.setattr(_native, "search", None)
    nearest._warn_of_numpy.cache_clear()
    yield
    nearest._warn_of_numpy.cache_clear()


@native
@pytest.mark.parametrize("k", [0, -1, 1.5, True, None, "2"])
def test_a_k_that_is_not_a_count_is_refused(k):
    with pytest.raises(ParameterError, match=f"k={k!r}: expected a whole number >= 1"):
        nearest.build_index(drawn(20), WEIGHT).find_nearest(drawn(5), k=k)


@native
@pytest.mark.parametrize(("k", "size"), [(17, 40), (6, 5), (2**40, 40)])
def test_a_k_beyond_the_candidates_or_sixteen_is_refused(k, size):
    with pytest.raises(ParameterError, match=f"k={k}: expected at most 16.* {size} candidates"):
        nearest.build_index(drawn(size), WEIGHT).find_nearest(drawn(5), k=k)


@native
@pytest.mark.parametrize("k", [0, -1, 17, 6])
def test_the_extension_itself_refuses_a_wrong_k(k):
    index = nearest.build_index(drawn(5), WEIGHT).index
    with pytest.raises(ValueError, match="k: expected 1 to 16"):
        index.nearest(drawn(5).numbers, drawn(5).codes, k=k)


@native
def test_nobody_is_near_where_there_are_no_candidates():
    with pytest.raises(ParameterError, match="0 candidates"):
        nearest.build_index(drawn(0), WEIGHT).find_nearest(drawn(5))


@native
@pytest.mark.parametrize("jobs", [0, -1])
def test_less_than_one_thread_is_refused(jobs):
    with pytest.raises(ValueError, match=r"jobs.* at least 1"):
        nearest.build_index(drawn(5), WEIGHT, jobs=jobs).find_nearest(drawn(5))


@native
@pytest.mark.parametrize("code_type", [np.int8, np.int64, np.uint64, np.float32, bool])
def test_codes_of_another_type_are_refused(code_type):
    rows = Records(drawn(5).numbers, drawn(5).codes.astype(code_type))
    with pytest.raises((TypeError, ValueError)):
        nearest.build_index(drawn(5), WEIGHT).find_nearest(rows)


@native
@pytest.mark.parametrize(("numeric", "categorical"), [(2, 2), (4, 2), (3, 1), (3, 3), (0, 0)])
def test_rows_with_other_columns_are_refused(numeric, categorical):
    with pytest.raises(ValueError, match="expected the columns of the candidates"):
        nearest.build_index(drawn(5), WEIGHT).find_nearest(drawn(5, numeric, categorical))


@native
def test_numbers_and_codes_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="same number of rows"):
        nearest.build_index(Records(drawn(5).numbers, drawn(4).codes), WEIGHT)
    with pytest.raises(ValueError, match="rows: expected"):
        nearest.build_index(drawn(5), WEIGHT).find_nearest(
            Records(drawn(5).numbers, drawn(4).codes)
        )


@native
@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, 1e39])
def test_a_weight_that_is_negative_or_not_finite_is_refused(weight):
    with pytest.raises(ValueError, match="weight: expected a finite number of at least 0"):
        nearest.build_index(drawn(5), weight)


@native
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kernel", ["prune", "filter", "dense", "automatic"])
def test_rows_that_are_not_finite_are_refused(kernel, value):
    codes = 2 if kernel == "filter" else 0
    index = nearest.build_index(drawn(40, categorical=codes), WEIGHT).index
    asked = nearest.NativeIndex(index, 40, kernel=kernel)
    with pytest.raises(ValueError, match="expected numbers from -1e15 to 1e15"):
        asked.find_nearest(with_number(drawn(50, categorical=codes), value))


@native
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("size", [1, 40, 5000])
def test_candidates_that_are_not_finite_are_refused(size, value):
    categorical = 0 if np.isnan(value) else 2
    candidates = drawn(size, categorical=categorical)
    candidates.numbers[size // 2 :: 7] = value
    with pytest.raises(ValueError, match="expected numbers from -1e15 to 1e15"):
        nearest.build_index(candidates, WEIGHT)


def holed(size, seed, numeric=3, categorical=2, share=0.3):
    """Rows of which numbers are missing, with a code for each that says so."""
    rows = drawn(size, numeric, categorical, seed)
    missing = np.random.default_rng([seed, 1]).random(rows.numbers.shape) < share
    numbers = np.where(missing, np.float32(np.nan), rows.numbers)
    return Records(numbers, np.hstack([rows.codes, missing.astype(np.uint8)]))


def naive(rows, candidates, k):
    """The nearest by the words: a null and a number differ like two categories."""
    found = []
    for number, code in zip(rows.numbers, rows.codes, strict=True):
        far = np.nansum((candidates.numbers - number).astype(np.float64) ** 2, axis=1)
        far += WEIGHT * (candidates.codes != code).sum(axis=1)
        found.append(np.argsort(far, kind="stable")[:k])
    return np.array(found)


@native
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 1.0])
@pytest.mark.parametrize(("rows", "candidates"), [(50, 40), (3000, 700), (1, 1)])
@pytest.mark.parametrize("wide", [2, 300])
def test_missing_numbers_are_as_far_as_a_category(rows, candidates, share, wide):
    """Missing among rows, candidates or both; compiled, in numpy and by the words."""
    asked, known = holed(rows, 1, categorical=wide, share=share), drawn(candidates, 3, wide + 3, 2)
    some = holed(candidates, 3, categorical=wide, share=share)
    plain = Records(
        known.numbers, np.hstack([known.codes[:, :wide], np.zeros((candidates, 3), np.uint8)])
    )
    k = min(3, candidates)
    for against in (some, plain):
        expected = NumpyIndex(against, WEIGHT).find_nearest(asked, k)
        assert (
            nearest.build_index(against, WEIGHT, jobs=2).find_nearest(asked, k) == expected
        ).all()
        far = naive(asked.take(np.arange(min(rows, 50))), against, k)
        assert (far == expected[:50]).mean() > 0.99  # float32 and float64 differ in a tie


@native
@pytest.mark.parametrize("name", _native.search.instruction_sets() if _native.search else [])
def test_every_instruction_set_passes_over_missing_numbers(name):
    asked, against = holed(700, 1), holed(300, 2)
    index = nearest.NativeIndex(
        nearest.build_index(against, WEIGHT).index, 300, instruction_set=name
    )
    assert (
        index.find_nearest(asked, 5) == NumpyIndex(against, WEIGHT).find_nearest(asked, 5)
    ).all()


@native
@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e20])
def test_beside_missing_numbers_others_are_still_finite(value):
    index = nearest.build_index(holed(40, 0), WEIGHT)
    with pytest.raises(ValueError, match="expected numbers from -1e15 to 1e15"):
        index.find_nearest(with_number(holed(50, 1), value))


@native
@pytest.mark.parametrize("kernel", ["prune", "filter", "dense"])
def test_kernels_that_can_not_hold_missing_numbers_say_so(kernel):
    index = nearest.build_index(holed(40, 0), WEIGHT).index
    with pytest.raises(ValueError, match="missing number"):
        nearest.NativeIndex(index, 40, kernel=kernel).find_nearest(holed(50, 1))


@native
def test_rows_with_missing_numbers_are_merged_and_ordered_like_others():
    rows = holed(2000, 4, numeric=1, categorical=1, share=0.5)
    rows = Records(np.round(rows.numbers, 1), rows.codes)
    merged, weights = nearest.prepare_rows(rows, WEIGHT)
    assert weights is not None
    assert weights.sum() == len(rows)
    assert len(np.unique(np.hstack([merged.numbers, merged.codes]), axis=0)) == len(merged)


@native
@pytest.mark.parametrize(
    ("name", "value"), [("kernel", "quick"), ("kernel", ""), ("instruction_set", "mmx")]
)
def test_kernels_and_instruction_sets_that_there_are_not_are_refused(name, value):
    index = nearest.build_index(drawn(5), WEIGHT).index
    with pytest.raises(ValueError, match=f"{name}: expected"):
        index.nearest(drawn(5).numbers, drawn(5).codes, **{name: value})


@native
def test_arrays_come_in_any_layout():
    rows, candidates = drawn(50), drawn(30, seed=1)
    expected = nearest.build_index(candidates, WEIGHT).find_nearest(rows).tolist()
    for change in (
        np.asfortranarray,
        lambda cells: np.repeat(cells, 2, axis=0)[::2],
        lambda cells: cells[::-1].copy()[::-1],
        lambda cells: cells.astype(cells.dtype.newbyteorder()),
        unaligned,
        read_only,
    ):
        changed = Records(change(rows.numbers), change(rows.codes))
        assert nearest.build_index(candidates, WEIGHT).find_nearest(changed).tolist() == expected
        changed = Records(change(candidates.numbers), change(candidates.codes))
        assert nearest.build_index(changed, WEIGHT).find_nearest(rows).tolist() == expected


@native
@pytest.mark.parametrize("code_type", [np.uint8, np.uint16, np.uint32])
def test_rows_may_hold_codes_of_any_width(code_type):
    rows, candidates = drawn(50), drawn(30, seed=1)
    expected = nearest.build_index(candidates, WEIGHT).find_nearest(rows).tolist()
    wide = Records(rows.numbers, rows.codes.astype(code_type))
    assert nearest.build_index(candidates, WEIGHT).find_nearest(wide).tolist() == expected


@native
def test_candidates_may_be_gone_before_the_search():
    """The index holds copies."""
    candidates = drawn(30, seed=1)
    index = nearest.build_index(candidates, WEIGHT)
    expected = NumpyIndex(drawn(30, seed=1), WEIGHT).find_nearest(drawn(50)).tolist()
    candidates.numbers[:] = 0
    assert index.find_nearest(drawn(50)).tolist() == expected


@native
def test_no_rows_find_nothing():
    assert nearest.build_index(drawn(30), WEIGHT, jobs=3).find_nearest(drawn(0), k=4).shape == (
        0,
        4,
    )


def unaligned(cells):
    room = np.zeros(cells.nbytes + 1, np.uint8)
    room[1:] = cells.reshape(-1).view(np.uint8)
    return room[1:].view(cells.dtype).reshape(cells.shape)


def read_only(cells):
    cells = cells.copy()
    cells.flags.writeable = False
    return cells


def test_without_the_extension_one_warning_is_given_and_no_more(numpy_only):
    with pytest.warns(SlowVotesWarning, match="native votes are not installed") as caught:
        [nearest.build_index(drawn(5), WEIGHT) for _ in range(3)]
    assert len(caught) == 1


def test_without_the_extension_numpy_answers(numpy_only):
    with pytest.warns(SlowVotesWarning):
        index = nearest.build_index(drawn(30, seed=1), WEIGHT, jobs=2)
    assert isinstance(index, NumpyIndex)
    assert index.find_nearest(drawn(50), k=3).shape == (50, 3)


def test_without_the_extension_preparing_keeps_the_rows(numpy_only):
    twice = Records.concat([drawn(20), drawn(20)])
    rows, weights = nearest.prepare_rows(twice, WEIGHT)
    assert rows.numbers.tolist() == drawn(20).numbers.tolist()
    assert weights.tolist() == [2] * 20


def test_without_the_extension_a_table_counts_from_end_to_end(numpy_only):
    rows, labels = drawn(300), np.arange(300) % 3
    population = [drawn(size, seed=size) for size in (40, 1, 0)]
    table = StoredTable([(rows, labels)], classes=3, category_weight=WEIGHT, jobs=2)
    with pytest.warns(SlowVotesWarning):
        votes = table.count_votes(population)
    assert [counts.sum() for counts in votes] == [100, 100, 0]


@native
def test_with_the_extension_nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nearest.build_index(drawn(5), WEIGHT).find_nearest(drawn(5))


# All equally far, so that nothing can be left out. The clock and the alarm are those of the
# processor's time in this process, so that it does not matter what else a machine does.
LONG_SEARCH = """
import signal
import time
import numpy as np
from tabpe.encoding import Records
from tabpe.backends import nearest
def points(size, value):
    return Records(np.full((size, 8), value, np.float32), np.zeros((size, 0), np.uint8))
def took(rows):
    began = time.process_time()
    try:
        index.find_nearest(rows)
    except KeyboardInterrupt:
        print("heard")
    return time.process_time() - began
index = nearest.build_index(points(6_000, 0.25), 1 / 3, jobs={jobs})
whole = 100 * took(points(10_000, 0.5))
rows = points(1_000_000, 0.5)
signal.signal(signal.SIGPROF, signal.default_int_handler)
signal.setitimer(signal.ITIMER_PROF, whole / 20)
print(took(rows) / whole)
"""


@native
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no such alarm here")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_ends_a_search_long_before_its_end(jobs):
    """It comes after a twentieth of the search. Unheard until the end, it would take it all."""
    code = LONG_SEARCH.format(jobs=jobs)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heard, share = done.stdout.split()
    assert heard == "heard"
    assert float(share) < 0.5


@native
@pytest.mark.parametrize("jobs", [1, 2])
def test_other_threads_of_python_go_on_during_a_search(jobs):
    """Held all the time, the lock of the interpreter would let hardly a step happen.

    That holds for a search of any length. So one during which a machine was busy with other work
    is tried again, twice as long.
    """
    candidates = drawn(9000)
    index = nearest.build_index(
        Records(0 * candidates.numbers, candidates.codes), WEIGHT, jobs=jobs
    )
    steps, size = 0, 40_000
    while steps <= 10 and size < 10_000_000:
        steps, size = steps_during(index, size), 2 * size
    assert steps > 10


def steps_during(index, size):
    """How often another thread gets a turn while so many rows are searched for."""
    rows, over = drawn(size), threading.Event()
    rows = Records(0 * rows.numbers, rows.codes)
    thread = threading.Thread(target=lambda: (index.find_nearest(rows), over.set()))
    thread.start()
    steps = 0
    while not over.wait(0.001):
        steps += 1
    thread.join()
    return steps
