"""A run folder keeps its guarantees without fcntl, unnamed files, and folders to sync."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from facade import columns, fake_fit
from tabpe import Evolution
from tabpe._utils import files
from tabpe.accounting import FakeNoise
from tabpe.accounting.ledger import Ledger
from tabpe.errors import OutputError
from tabpe.measurement import checkpoint

TINY = {"preset": Evolution(rounds=1, sampling_rounds=1), "n_samples": 10}


@pytest.fixture
def windows(monkeypatch):
    """What tabpe finds there: no fcntl, no O_TMPFILE, no /proc, and folders can not be opened."""
    os_open = os.open

    def refuse_folders(path, flags, *words, **options):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return os_open(path, flags, *words, **options)

    monkeypatch.setattr(files, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.setattr(checkpoint, "fcntl", None)
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    monkeypatch.setattr(os, "open", refuse_folders)


def fit(folder, data="patients"):
    named = {"dataset": data, "ledger": folder / "ledger.db", "run_dir": folder / "run"}
    return fake_fit(pa.table(columns(60)), noise=FakeNoise(3), **named, **TINY)


@pytest.mark.filterwarnings("ignore::tabpe.errors.NoBudgetWarning")
def test_a_run_is_made_and_resumed_with_one_charge(tmp_path, windows):
    first, second = fit(tmp_path), fit(tmp_path)
    assert first.sample().equals(second.sample())
    charged = [one for one in Ledger(tmp_path / "ledger.db").entries("patients") if one.counts]
    assert len(charged) == 1
    assert [path.name for path in (tmp_path / "run").glob(".*") if path.name != ".lock"] == []


def open_folder(path):
    return checkpoint.RunFolder(path, checkpoint.RunInfo.begin_run(1), {"epsilon": 1})


def test_a_second_process_is_refused_until_the_first_is_killed(tmp_path, windows):
    code = f"""
        import sys
        from pathlib import Path
        from tabpe.measurement import checkpoint
        checkpoint.fcntl = None
        run = checkpoint.RunInfo.begin_run(1)
        folder = checkpoint.RunFolder(Path({str(tmp_path / "run")!r}), run, {{"epsilon": 1}})
        print("locked", flush=True)
        sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"locked\n"
        with pytest.raises(OutputError, match="another process works in it"):
            open_folder(tmp_path / "run")
        holder.kill()
    opened = open_folder(tmp_path / "run")
    with pytest.raises(OutputError, match="another process works in it"):
        open_folder(tmp_path / "run")
    opened.close()
    open_folder(tmp_path / "run").close()


def test_a_new_file_is_synced_under_its_name(tmp_path, windows, monkeypatch):
    synced, fsync = [], os.fsync

    def note(handle):
        synced.append([path.name for path in tmp_path.iterdir() if not path.name.startswith(".")])
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    files.create_file(tmp_path / "run.json", files.make_filler(b"{}"))
    assert synced == [[], ["run.json"]]
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_folder_gets_its_name_in_one_step(tmp_path, windows):
    with files.stage_folder(tmp_path / "release") as staged:
        files.write_text(staged / "note.txt", "hello")
    assert (tmp_path / "release" / "note.txt").read_text() == "hello"
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
