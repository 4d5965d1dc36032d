"""The stream engine: a file without a name, a table that may not change, errors that help."""

import resource
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest

from tabpe.backends import StreamEngine, counting
from tabpe.encoding import Records
from tabpe.errors import DataError, OutputError, TabpeError

SIZE = 1237


def drawn(size=SIZE, seed=0):
    rng = np.random.default_rng(seed)
    rows = Records(
        rng.random((size, 2)).astype(np.float32), rng.integers(0, 3, (size, 1)).astype(np.uint8)
    )
    return rows, rng.integers(0, 2, size)


def engine(**options):
    return StreamEngine(classes=2, category_weight=1 / 3, **options)


@pytest.fixture
def population():
    return [drawn(5, seed)[0] for seed in (1, 2)]


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
def test_the_spill_is_a_file_without_a_name_for_this_process_alone(tmp_path, population):
    streaming = engine(spill=tmp_path)
    streaming.prepare([drawn()])
    assert [mode for mode, _ in in_folder(tmp_path)] == [0o600]
    assert list(tmp_path.iterdir()) == []
    streaming.votes(population)
    assert list(tmp_path.iterdir()) == []
    streaming.close()
    assert in_folder(tmp_path) == []


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_one_segment_at_a_time_is_mapped(tmp_path, population, monkeypatch):
    monkeypatch.setattr(counting, "ROWS_A_SEGMENT", 100)
    mapped, plain = [], counting.build_index

    class Watched:
        def __init__(self, *given, **options):
            self.index = plain(*given, **options)

        def find_nearest(self, rows, k=1):
            mapped.append(Path("/proc/self/maps").read_text().count(str(tmp_path)))
            return self.index.find_nearest(rows, k)

    monkeypatch.setattr(counting, "build_index", Watched)
    streaming = engine(spill=tmp_path)
    streaming.prepare([(rows, labels) for rows, labels in [drawn(100)] * 12])
    streaming.votes(population)
    assert len(mapped) == 24
    assert 1 <= max(mapped) <= 2
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
    streaming.close()


def test_without_a_folder_it_is_the_one_of_the_system(tmp_path, monkeypatch, population):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    streaming = engine()
    streaming.prepare([drawn()])
    assert len(in_folder(tmp_path)) == 1
    streaming.close()


def test_without_spill_nothing_is_written(tmp_path, monkeypatch, population):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: pytest.fail("a file was made"))
    streaming = engine(spill=False)
    streaming.prepare([drawn()])
    assert sum(counts.sum() for counts in streaming.votes(population)) == SIZE


def test_with_spill_the_batches_are_read_once(population):
    streaming = engine()
    streaming.prepare(iter([drawn()]))
    for _ in range(3):
        assert sum(counts.sum() for counts in streaming.votes(population)) == SIZE
    streaming.close()


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
    [drawn(SIZE - 1), drawn(SIZE + 1), drawn(0), moved(*drawn())],
    ids=["fewer", "more", "none", "another class"],
)
def test_a_table_that_changes_between_rounds_is_refused_without_a_count(later, population):
    streaming = engine(spill=False)
    streaming.prepare(Changing(drawn(), drawn(), later))
    streaming.votes(population)
    with pytest.raises(DataError, match="the table changed while it was read") as caught:
        streaming.votes(population)
    assert not any(letter.isdigit() for letter in str(caught.value))
    assert caught.value.__context__ is None


def test_batches_that_can_be_read_only_once_are_refused(population):
    streaming = engine(spill=False)
    streaming.prepare(iter([drawn()]))
    with pytest.raises(DataError, match="changed"):
        streaming.votes(population)


def test_the_change_is_noticed_even_where_nobody_is_voted_for(population):
    nobody = [candidates.take(np.array([], dtype=int)) for candidates in population]
    streaming = engine(spill=False)
    streaming.prepare(Changing(drawn(), drawn(5)))
    with pytest.raises(DataError, match="changed"):
        streaming.votes(nobody)


def refusal(streaming, batches):
    with pytest.raises(OutputError, match=r"^spill=") as caught:
        streaming.prepare(batches)
    streaming.close()
    assert isinstance(caught.value, TabpeError)
    assert caught.value.__context__ is None
    assert str(SIZE) not in str(caught.value)
    return str(caught.value)


def test_a_folder_that_is_gone_is_named(tmp_path):
    message = refusal(engine(spill=tmp_path / "gone"), [drawn()])
    assert str(tmp_path / "gone") in message
    assert "No such file or directory" in message
    assert "spill=False" in message


def test_a_folder_that_can_not_be_written_to_is_named(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    assert "(Permission denied)" in refusal(engine(spill=tmp_path), [drawn()])


@pytest.mark.parametrize("size", [10, 1000, 20_000])
def test_a_full_disk_is_an_error_that_helps(tmp_path, size):
    """The system lets no file grow beyond a few bytes, which is what a full disk looks like."""
    plain = resource.getrlimit(resource.RLIMIT_FSIZE)
    handled = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, plain[1]))
    try:
        message = refusal(engine(spill=tmp_path), [drawn(size)])
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
from tabpe.encoding import Records
from tabpe.backends import StreamEngine

rows = Records(np.random.rand(1000, 4).astype(np.float32), np.empty((1000, 0), np.uint8))
engine = StreamEngine(classes=1, category_weight=1 / 3, spill=Path(sys.argv[1]))
engine.prepare([(rows, np.zeros(1000, dtype=np.int64))] * 20)
print("ready", flush=True)
while True:
    engine.votes([Records(rows.numbers[:50].astype(np.float64), rows.codes[:50])])
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
from tabpe.encoding import Records
from tabpe.backends import StreamEngine

class Rows:
    def __iter__(self):
        for seed in range(int(sys.argv[1])):
            rng = np.random.default_rng(seed)
            numbers = rng.random((100_000, 16), dtype=np.float32)
            codes = np.empty((100_000, 0), np.uint8)
            yield Records(numbers, codes), rng.integers(0, 2, 100_000)

spill = False if sys.argv[2] == "afresh" else None
engine = StreamEngine(classes=2, category_weight=1 / 3, spill=spill)
engine.prepare(Rows())
few = [Records(np.random.default_rng(1).random((2, 16)), np.empty((2, 0), np.uint8))] * 2
for _ in range(2):
    engine.votes(few)
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
