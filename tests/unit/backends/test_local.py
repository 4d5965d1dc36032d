"""Tables in this process: exact counts however rows are kept, and a file without a name."""

import inspect
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import asking
from asking import ENCODER, UNIT
from shard_pools import ShardedBatches, frames
from tabpe._utils.resources import Resources
from tabpe.backends import (
    Backend,
    EncodedReading,
    LocalBackend,
    RecordsBackend,
    StoredTable,
    local,
)
from tabpe.backends.cluster import ShardedBackend
from tabpe.backends.local import SpillFile
from tabpe.backends.nearest import NumpyIndex
from tabpe.backends.queries import RawRowCountQuery, RowCountQuery, RowHashQuery, VoteQuery
from tabpe.encoding import Records, VotingSpace
from tabpe.errors import DataError, OutputError, TabpeError

OWN = {
    "memory": StoredTable,
    "spill": partial(StoredTable, open_store=partial(SpillFile, None)),
    "without spill": partial(StoredTable, open_store=None),
}
SHARDS = {f"{shards} shards": partial(ShardedBatches, shards=shards) for shards in (1, 2, 7)}
KINDS = OWN | SHARDS


def as_it_is(rows):
    """The voting space in which rows are as they were encoded."""
    return VotingSpace(np.zeros(rows.numbers.shape[1], dtype=bool))


SPACE = VotingSpace(np.zeros(2, dtype=bool))


def merged(rows, _category_weight):
    """Another way to prepare rows: in order, each once, with how often it stood there."""
    whole = np.hstack([rows.numbers, rows.codes])
    _, first, counts = np.unique(whole, axis=0, return_index=True, return_counts=True)
    return rows.take(first), counts.astype(np.int64)


@pytest.fixture(params=["plain", "merged"])
def _preparation(request, monkeypatch):
    if request.param == "merged":
        monkeypatch.setattr(local, "prepare_rows", merged)


def drawn(rng, size):
    return Records(
        rng.integers(0, 5, (size, 2)).astype(np.float32) / 4,
        rng.integers(0, 3, (size, 2)).astype(np.uint8),
    )


def opening(kind):
    opened = []

    def made(*batches, classes=3, jobs=1):
        opened.append(kind(batches, classes=classes, category_weight=1 / 3, jobs=jobs))
        return opened[-1]

    yield made
    for table in opened:
        table.close()


@pytest.fixture(params=KINDS)
def table_of(request, _preparation):
    yield from opening(KINDS[request.param])


@pytest.fixture(params=OWN)
def own_table_of(request, _preparation):
    """For what holds of tables whose rows are all in one place."""
    yield from opening(OWN[request.param])


@pytest.fixture
def private():
    rng = np.random.default_rng(0)
    return drawn(rng, 200), rng.integers(0, 3, 200)


@pytest.fixture
def population():
    rng = np.random.default_rng(1)
    return [drawn(rng, size) for size in (10, 25, 1)]


each_number = pytest.mark.parametrize("each", [1, 2, 3, 4])


def plain(votes):
    return [counts.tolist() for counts in votes]


@pytest.mark.parametrize("kind", [LocalBackend, RecordsBackend, ShardedBackend])
def test_it_has_all_that_a_backend_has(kind):
    for name, expected in inspect.getmembers(Backend, inspect.isfunction):
        if not name.startswith("_"):
            found = inspect.signature(getattr(kind, name))
            assert list(found.parameters) == list(inspect.signature(expected).parameters)


def test_every_row_votes_once_in_its_own_class(table_of, private, population):
    table = table_of(private)
    votes = table.count_votes(population, SPACE)
    assert [len(counts) for counts in votes] == [10, 25, 1]
    assert [counts.sum() for counts in votes] == np.bincount(private[1]).tolist()
    assert table.count_classes(SPACE).tolist() == np.bincount(private[1]).tolist()
    assert table.count_classes().tolist() == np.bincount(private[1]).tolist()


@each_number
def test_every_row_votes_for_as_many_candidates_as_it_may(table_of, private, population, each):
    votes = table_of(private).count_votes(population, SPACE, each)
    different = [len(np.unique(np.hstack([p.numbers, p.codes]), axis=0)) for p in population]
    sizes = np.bincount(private[1])
    assert [counts.sum() for counts in votes] == [
        size * min(each, known) for size, known in zip(sizes, different, strict=True)
    ]
    assert all(counts.max() <= size for counts, size in zip(votes, sizes, strict=True))


def test_one_vote_of_a_row_is_what_it_has_if_nothing_is_said(table_of, private, population):
    table = table_of(private)
    assert plain(table.count_votes(population)) == plain(table.count_votes(population, None, 1))


def test_answers_are_exact_integers(table_of, private, population):
    table = table_of(private)
    assert table.count_classes(SPACE).dtype == table.count_classes().dtype == np.int64
    assert {counts.dtype for counts in table.count_votes(population, SPACE)} == {np.dtype(np.int64)}


@each_number
@pytest.mark.parametrize("jobs", [1, 3])
def test_batches_and_threads_do_not_matter(table_of, private, population, jobs, each):
    rows, labels = private
    cuts = [(rows.take(part), labels[part]) for part in np.array_split(np.arange(200), 7)]
    whole = table_of(private).count_votes(population, SPACE, each)
    assert plain(table_of(*cuts, jobs=jobs).count_votes(population, SPACE, each)) == plain(whole)


@each_number
def test_the_order_of_rows_does_not_matter(table_of, private, population, each):
    rows, labels = private
    order = np.random.default_rng(2).permutation(200)
    shuffled = rows.take(order), labels[order]
    assert plain(table_of(shuffled).count_votes(population, SPACE, each)) == plain(
        table_of(private).count_votes(population, SPACE, each)
    )


@each_number
def test_duplicate_candidates_give_all_votes_to_the_first(table_of, private, population, each):
    twice = [Records.concat([part, part]) for part in population]
    once = table_of(private).count_votes(population, SPACE, each)
    doubled = table_of(private).count_votes(twice, SPACE, each)
    for counts, both in zip(once, doubled, strict=True):
        assert both.tolist() == [*counts.tolist(), *[0] * len(counts)]


def test_an_empty_class_votes_for_nobody(table_of, private, population):
    rows, labels = private
    table = table_of((rows.take(labels != 1), labels[labels != 1]))
    assert table.count_classes(SPACE)[1] == table.count_classes()[1] == 0
    assert plain(table.count_votes(population, SPACE))[1] == [0] * 25


def test_a_class_without_candidates_gets_no_votes(table_of, private, population):
    nobody = population[0].take(np.array([], dtype=int))
    votes = table_of(private).count_votes([nobody, *population[1:]])
    assert votes[0].tolist() == []


def test_a_table_without_rows_counts_nothing(table_of, population):
    table = table_of()
    assert table.count_classes(SPACE).tolist() == table.count_classes().tolist() == [0, 0, 0]
    assert not any(counts.any() for counts in table.count_votes(population, SPACE))


def test_a_closed_table_has_let_go_of_the_rows(own_table_of, private, population):
    table = own_table_of(private)
    table.close()
    assert table.count_classes(SPACE).tolist() == table.count_classes().tolist() == [0, 0, 0]
    assert not any(counts.any() for counts in table.count_votes(population, SPACE))


def test_voting_changes_nothing(table_of, private, population):
    table = table_of(private)
    assert plain(table.count_votes(population, SPACE)) == plain(
        table.count_votes(population, SPACE)
    )


def test_a_population_for_other_classes_is_refused(own_table_of, private, population):
    with pytest.raises(ValueError, match="candidates of each class"):
        own_table_of(private).count_votes(population[:2])


def test_a_closed_table_can_be_closed_again(table_of, private):
    table = table_of(private)
    table.close()
    table.close()


def test_a_table_that_was_never_read_can_be_closed():
    for kind in KINDS.values():
        kind([], classes=1, category_weight=0.5).close()


def test_small_batches_and_large_segments_do_not_matter(table_of, private, population, monkeypatch):
    rows, labels = private
    expected = plain(table_of(private).count_votes(population, SPACE))
    one_by_one = [(rows.take([place]), labels[[place]]) for place in range(200)]
    for size in (1, 7, 200, 1000):
        monkeypatch.setattr(local, "ROWS_A_SEGMENT", size)
        assert plain(table_of(*one_by_one).count_votes(population, SPACE)) == expected


@st.composite
def votings(draw):
    """Batches of rows with classes and a population, of any shape; few values, so many ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    numeric, categorical = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    code = draw(st.sampled_from([np.uint8, np.uint16, np.uint32]))
    classes = draw(st.integers(1, 4))

    def records(size):
        return Records(
            rng.integers(0, 4, (size, numeric)).astype(np.float32) / 3,
            rng.integers(0, 3, (size, categorical)).astype(code),
        )

    sizes = draw(st.lists(st.integers(0, 9), max_size=5))
    batches = [(records(size), rng.integers(0, classes, size)) for size in sizes]
    population = [records(draw(st.integers(0, 6))) for _ in range(classes)]
    return batches, population, draw(st.integers(1, 12))


def expected_votes(batches, population, each):
    """The definition, row by row."""
    counts = [[0] * len(candidates) for candidates in population]
    for rows, labels in batches:
        for place, label in enumerate(labels):
            for winner in winners(rows.take(np.array([place])), population[label], each):
                counts[label][winner] += 1
    return counts


def winners(row, candidates, each):
    """Go from the nearest candidate to the farthest, past those that are like one before."""
    if not len(candidates):
        return []
    chosen = {}
    for place in NumpyIndex(candidates, 1 / 3).find_nearest(row, len(candidates))[0]:
        like = (*candidates.numbers[place].tolist(), *candidates.codes[place].tolist())
        chosen.setdefault(like, place)
    return list(chosen.values())[:each]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prepare", [lambda rows, _: (rows, None), merged])
@given(voting=votings(), each=st.integers(1, 5), jobs=st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=60)
def test_votes_are_those_of_the_definition_bit_for_bit(kind, prepare, voting, each, jobs):
    batches, population, segment = voting
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(local, "ROWS_A_SEGMENT", segment)
        patched.setattr(local, "prepare_rows", prepare)
        table = KINDS[kind](batches, classes=len(population), category_weight=1 / 3, jobs=jobs)
        space = as_it_is(population[0])
        labels = [int(label) for _, labels in batches for label in labels]
        by_class = [labels.count(label) for label in range(len(population))]
        assert table.count_classes().tolist() == by_class
        expected = expected_votes(batches, population, each)
        assert plain(table.count_votes(population, space, each)) == expected
        assert table.count_classes(space).tolist() == by_class
        table.close()


SIZE = 1237


def batch(size=SIZE, seed=0):
    rng = np.random.default_rng(seed)
    rows = Records(
        rng.random((size, 2)).astype(np.float32), rng.integers(0, 3, (size, 1)).astype(np.uint8)
    )
    return rows, rng.integers(0, 2, size)


def spilling(batches, folder=None):
    return streaming(batches, partial(SpillFile, folder))


def streaming(batches, open_store=None):
    return StoredTable(batches, classes=2, category_weight=1 / 3, open_store=open_store)


@pytest.fixture
def candidates():
    return [batch(5, seed)[0] for seed in (1, 2)]


def opened():
    """Mode and target of every open file of this process that is a plain file without a name."""
    found = []
    for handle in Path("/proc/self/fd").iterdir():
        try:
            status, target = handle.stat(), str(handle.readlink())
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
            found.append((stat.S_IMODE(status.st_mode), target))
    return found


def in_folder(folder):
    return [one for one in opened() if one[1].startswith(str(folder))]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_spill_is_a_file_without_a_name_for_this_process_alone(tmp_path, candidates):
    table = spilling([batch()], tmp_path)
    table.count_classes(SPACE)
    assert [mode for mode, _ in in_folder(tmp_path)] == [0o600]
    assert list(tmp_path.iterdir()) == []
    table.count_votes(candidates, SPACE)
    assert list(tmp_path.iterdir()) == []
    table.close()
    assert in_folder(tmp_path) == []


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_one_segment_at_a_time_is_mapped(tmp_path, candidates, monkeypatch):
    monkeypatch.setattr(local, "ROWS_A_SEGMENT", 100)
    mapped, plain = [], local.build_index

    class Watched:
        def __init__(self, *given, **options):
            self.index = plain(*given, **options)

        def find_nearest(self, rows, k=1):
            mapped.append(Path("/proc/self/maps").read_text().count(str(tmp_path)))
            return self.index.find_nearest(rows, k)

    monkeypatch.setattr(local, "build_index", Watched)
    table = spilling([batch(100)] * 12, tmp_path)
    table.count_votes(candidates, SPACE)
    assert len(mapped) == 24
    assert 1 <= max(mapped) <= 2
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
    table.close()


def test_without_a_folder_it_is_the_one_of_the_system(tmp_path, monkeypatch, candidates):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    table = spilling([batch()])
    table.count_classes(SPACE)
    assert len(in_folder(tmp_path)) == 1
    table.close()


def test_without_spill_nothing_is_written(tmp_path, monkeypatch, candidates):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: pytest.fail("a file was made"))
    for space in (None, SPACE):
        votes = streaming([batch()]).count_votes(candidates, space)
        assert sum(counts.sum() for counts in votes) == SIZE


def test_with_spill_the_batches_are_read_once(candidates):
    table = spilling(iter([batch()]))
    for _ in range(3):
        assert sum(counts.sum() for counts in table.count_votes(candidates, SPACE)) == SIZE
        assert table.count_classes(SPACE).sum() == SIZE
    table.close()


class Changing:
    """Batches that are others each time."""

    def __init__(self, *tables):
        self.tables = list(tables)

    def __iter__(self):
        return iter([self.tables.pop(0) if len(self.tables) > 1 else self.tables[0]])


def moved(rows, labels):
    """The same number of rows, one of them in another class."""
    labels = labels.copy()
    labels[0] = 1 - labels[0]
    return rows, labels


@pytest.mark.parametrize(
    "later",
    [batch(SIZE - 1), batch(SIZE + 1), batch(0), moved(*batch())],
    ids=["fewer", "more", "none", "another class"],
)
@pytest.mark.parametrize("space", [None, SPACE], ids=["as encoded", "in a voting space"])
def test_a_table_that_changes_between_rounds_is_refused_without_a_count(later, space, candidates):
    table = streaming(Changing(batch(), batch(), later))
    table.count_votes(candidates, space)
    with pytest.raises(DataError, match="the table changed while it was read") as caught:
        table.count_votes(candidates, space)
    assert not any(letter.isdigit() for letter in str(caught.value))
    assert caught.value.__context__ is None


def test_batches_that_can_be_read_only_once_are_refused(candidates):
    for space in (None, SPACE):
        with pytest.raises(DataError, match="changed"):
            streaming(iter([batch()])).count_votes(candidates, space)


def test_the_change_is_noticed_even_where_nobody_is_voted_for(candidates):
    nobody = [some.take(np.array([], dtype=int)) for some in candidates]
    with pytest.raises(DataError, match="changed"):
        streaming(Changing(batch(), batch(5))).count_votes(nobody)


def refusal(table):
    with pytest.raises(OutputError, match=r"^spill=") as caught:
        table.count_classes(SPACE)
    table.close()
    assert isinstance(caught.value, TabpeError)
    assert caught.value.__context__ is None
    assert str(SIZE) not in str(caught.value)
    return str(caught.value)


def test_a_folder_that_is_gone_is_named(tmp_path):
    message = refusal(spilling([batch()], tmp_path / "gone"))
    assert str(tmp_path / "gone") in message
    assert "No such file or directory" in message
    assert "spill=False" in message


def test_a_folder_that_can_not_be_written_to_is_named(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert "(Permission denied)" in refusal(spilling([batch()], tmp_path))


@pytest.mark.parametrize("size", [10, 1000, 20_000])
def test_a_full_disk_is_an_error_that_helps(tmp_path, size):
    """The system lets no file grow beyond a few bytes, which is what a full disk looks like."""
    plain = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, plain[1]))
    try:
        message = refusal(spilling([batch(size)], tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, plain)
        signal.signal(signal.SIGXFSZ, handled)
    assert "File too large" in message
    assert "name another folder" in message
    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
import numpy as np
from pathlib import Path
from functools import partial
from tabpe.encoding import Records
from tabpe.backends import StoredTable
from tabpe.backends.local import SpillFile

rows = Records(np.random.rand(1000, 4).astype(np.float32), np.empty((1000, 0), np.uint8))
batches = [(rows, np.zeros(1000, dtype=np.int64))] * 20
table = StoredTable(
    batches, category_weight=1 / 3, open_store=partial(SpillFile, Path(sys.argv[1]))
)
candidates = [Records(rows.numbers[:50].astype(np.float64), rows.codes[:50])]
table.count_votes(candidates)
print("ready", flush=True)
while True:
    table.count_votes(candidates)
"""


def test_a_process_that_is_killed_leaves_nothing_behind(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    assert list(tmp_path.iterdir()) == []
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


MEMORY = """
import resource, sys
import numpy as np
from functools import partial
from tabpe.encoding import Records, VotingSpace
from tabpe.backends import StoredTable
from tabpe.backends.local import SpillFile

class Rows:
    def __iter__(self):
        for seed in range(int(sys.argv[1])):
            rng = np.random.default_rng(seed)
            numbers = rng.random((100_000, 16), dtype=np.float32)
            codes = np.empty((100_000, 0), np.uint8)
            yield Records(numbers, codes), rng.integers(0, 2, 100_000)

store = None if sys.argv[2] == "afresh" else partial(SpillFile, None)
table = StoredTable(Rows(), classes=2, category_weight=1 / 3, open_store=store)
space = VotingSpace(np.zeros(16, dtype=bool))
few = [Records(np.random.default_rng(1).random((2, 16)), np.empty((2, 0), np.uint8))] * 2
for _ in range(2):
    table.count_votes(few, space)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("how", ["spilt", "afresh"])
def test_memory_does_not_grow_with_the_number_of_rows(how):
    """Ten times the rows are 115 MB more, encoded; the peak grows by less than half of that."""

    def peak(hundred_thousands):
        command = [sys.executable, "-c", textwrap.dedent(MEMORY), str(hundred_thousands), how]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return int(run.stdout) / 1000

    assert peak(22) < peak(4) + 55


class Failing:
    """Batches of which the second can not be read, for once."""

    def __init__(self):
        self.failures = 1

    def __iter__(self):
        yield batch()
        if self.failures:
            self.failures -= 1
            raise ValueError("a cell can not be read")
        yield batch()


@pytest.mark.parametrize("space", [None, SPACE], ids=["as encoded", "in a voting space"])
@pytest.mark.parametrize("store", [list, partial(SpillFile, None), None])
def test_rows_that_were_read_in_part_do_not_pass_for_all(store, space, candidates, monkeypatch):
    monkeypatch.setattr(local, "ROWS_A_SEGMENT", 100)
    table = streaming(Failing(), store)
    with pytest.raises(ValueError, match="can not be read"):
        table.count_votes(candidates, space)
    assert sum(counts.sum() for counts in table.count_votes(candidates, space)) == 2 * SIZE
    assert table.count_classes(space).sum() == 2 * SIZE
    table.close()


RESOURCES = Resources.from_options(n_jobs=1)


def test_a_query_about_encoded_rows_says_how_they_are_encoded():
    backend = LocalBackend(frames(asking.table(9, 0))[0], None, RESOURCES)
    with pytest.raises(TabpeError, match="how the rows of a table are encoded"):
        backend.answer(VoteQuery(None, asking.population(0)))


def test_rows_that_are_encoded_already_have_no_raw_cells():
    backend = RecordsBackend(StoredTable([batch()], classes=2))
    assert backend.answer(RowCountQuery(None)).value.tolist() == [SIZE]
    for query in (RawRowCountQuery(), RowHashQuery(("a",), b"key")):
        with pytest.raises(TabpeError, match="encoded already"):
            backend.answer(query)


@pytest.mark.parametrize("unit", [None, UNIT], ids=["rows", "users"])
def test_a_backend_says_what_a_row_or_user_counts(unit):
    backend = LocalBackend(frames(asking.table(9, 0))[0], unit, RESOURCES)
    assert backend.scale == (1 if unit is None else unit.scale)
    assert backend.open_raw_columns().scale == backend.scale
    assert backend.open_table(EncodedReading(ENCODER)).scale == backend.scale


def test_rows_of_one_reading_are_kept_at_a_time():
    backend = LocalBackend(frames(asking.table(9, 0))[0], None, RESOURCES)
    one, other = (EncodedReading(ENCODER, 1 / 3, "votes") for _ in range(2))
    first = backend.open_table(one)
    assert backend.open_table(one) is first
    assert backend.open_table(EncodedReading(ENCODER)) is not first
    assert backend.open_table(one) is first
    assert backend.open_table(other) is not first
    assert first.count_rows().tolist() == [0]
    assert backend.open_table(one).count_rows().tolist() == [9]
