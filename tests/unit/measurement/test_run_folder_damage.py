"""A damaged run folder is refused in our own words, whatever is wrong with it."""

import contextlib
import os
import random
import shutil

import pyarrow as pa
import pytest

from facade import columns, fake_fit
from tabpe import Evolution
from tabpe.accounting import FakeNoise
from tabpe.errors import TabpeError

TINY = {"preset": Evolution(rounds=2, sampling_rounds=1), "n_samples": 10}
FILES = (
    "run.json",
    "fingerprint",
    "progress.log",
    "class-counts-001.measured",
    "votes-002.measured",
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder that a run has ended in, and the data folder of its user."""
    place = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(place / "home"))
        fit(place)
    return place


def fit(place):
    table = pa.table(columns(60))
    return fake_fit(table, noise=FakeNoise(3), run_dir=place / "run", **TINY)


def truncated(content, chance):
    return content[: chance.randrange(len(content))]


def flipped(content, chance):
    place = chance.randrange(len(content))
    return (
        content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
    )


def replaced(content, chance):
    others = [
        b"",
        b"\0" * 64,
        b"[]",
        b"{}",
        b'{"format": 2}',
        b"9" * 5000,
        b"\xff\xfe",
        b"[" * 10**5,
    ]
    return chance.choice(others)


def longer(content, chance):
    return content + chance.randbytes(20)


@pytest.mark.parametrize("damage", [truncated, flipped, replaced, longer])
@pytest.mark.parametrize("name", FILES)
def test_damage_is_refused_or_does_no_harm(whole, tmp_path, monkeypatch, name, damage):
    monkeypatch.setenv("XDG_DATA_HOME", str(whole / "home"))
    for seed in range(6):
        place = tmp_path / str(seed)
        shutil.copytree(whole / "run", place / "run")
        path = place / "run" / name
        path.write_bytes(damage(path.read_bytes(), random.Random(seed)))
        with contextlib.suppress(TabpeError):
            fit(place)
        shutil.rmtree(place)


def no_file(path):
    path.unlink()


def a_folder(path):
    path.unlink()
    path.mkdir()


def a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def a_dead_link(path):
    path.unlink()
    path.symlink_to("nowhere")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
@pytest.mark.parametrize("thing", [no_file, a_folder, a_pipe, a_dead_link])
@pytest.mark.parametrize("name", FILES)
def test_another_thing_in_the_place_of_a_file_is_refused(whole, tmp_path, monkeypatch, name, thing):
    monkeypatch.setenv("XDG_DATA_HOME", str(whole / "home"))
    shutil.copytree(whole / "run", tmp_path / "run")
    thing(tmp_path / "run" / name)
    with pytest.raises(TabpeError):
        fit(tmp_path)
