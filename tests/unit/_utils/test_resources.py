"""What a run may use of the machine: what is accepted, and what is refused by name."""

import os

import pytest

from tabpe._utils import resources
from tabpe._utils.resources import Resources
from tabpe.errors import ParameterError


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (1, 1),
        (10**12, 10**12),
        ("1", 1),
        ("512", 512),
        ("512B", 512),
        ("2GB", 2 * 10**9),
        ("2 gb", 2 * 10**9),
        ("2G", 2 * 10**9),
        ("512 MiB", 512 * 2**20),
        (" 512mib ", 512 * 2**20),
        ("1.5 KiB", 1536),
        ("0.5kB", 500),
        ("1TiB", 2**40),
        ("1T", 10**12),
    ],
)
def test_a_memory_limit_is_a_number_or_text(given, size):
    assert Resources.from_options(memory_limit=given).memory_limit == size


@pytest.mark.parametrize(
    "given",
    [
        *("", "much", "2XB", "-1GB", "GB", "1e9", "2 G B", "0", "0.2B", "nan", "inf", "2ib", "2i"),
        *("1_000", "1,000", 0, -1, 1.5, True, float("inf"), []),
    ],
)
def test_what_is_no_memory_limit_is_refused_by_name(given):
    with pytest.raises(ParameterError, match="memory_limit="):
        Resources.from_options(memory_limit=given)


def test_without_a_limit_it_is_half_of_the_memory():
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < Resources.from_options().memory_limit <= whole // 2


def test_a_container_with_less_memory_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_CONTAINER_LIMITS", (tmp_path / "a", tmp_path / "b"))
    plain = Resources.from_options().memory_limit
    (tmp_path / "a").write_text("max\n")
    assert Resources.from_options().memory_limit == plain
    (tmp_path / "b").write_text("1000000\n")
    assert Resources.from_options().memory_limit == 500_000


def test_a_system_that_does_not_tell_its_memory(monkeypatch):
    monkeypatch.setattr(resources, "_CONTAINER_LIMITS", ())
    monkeypatch.delattr(os, "sysconf")
    assert Resources.from_options().memory_limit == resources.UNKNOWN_MEMORY // 2


@pytest.mark.parametrize("given", ["streem", None, 3, "", True])
def test_an_unknown_engine_is_refused_by_name(given):
    with pytest.raises(ParameterError, match="engine="):
        Resources.from_options(engine=given)


def test_a_near_engine_is_suggested():
    with pytest.raises(ParameterError, match="did you mean 'stream'"):
        Resources.from_options(engine="streem")


@pytest.mark.parametrize(
    ("engine", "size", "streams"),
    [
        ("auto", 1000, False),
        ("auto", 1001, True),
        ("auto", None, True),
        ("local", 10**12, False),
        ("local", None, False),
        ("stream", 1, True),
    ],
)
def test_which_tables_are_streamed(engine, size, streams):
    assert Resources.from_options(engine=engine, memory_limit=1000).should_stream(size) is streams


@pytest.mark.parametrize("given", [None, False])
def test_a_spill_may_be_left_to_the_system_or_out(given):
    assert Resources.from_options(spill=given).spill is given


def test_a_spill_may_be_a_folder(tmp_path):
    assert Resources.from_options(spill=str(tmp_path)).spill == tmp_path


@pytest.mark.parametrize("given", [True, 0, 3, b"x", "/no/such/folder", __file__])
def test_what_is_no_folder_is_refused_by_name(given):
    with pytest.raises(ParameterError, match="spill="):
        Resources.from_options(spill=given)


@pytest.mark.parametrize(("given", "threads"), [(1, 1), (7, 7)])
def test_threads_are_as_many_as_asked_for(given, threads):
    assert Resources.from_options(n_jobs=given).jobs == threads


@pytest.mark.parametrize("given", [None, -1])
def test_all_cores_are_those_that_the_process_may_use(given, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2, 5}, raising=False)
    assert Resources.from_options(n_jobs=given).jobs == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    assert Resources.from_options(n_jobs=given).jobs == os.cpu_count()


@pytest.mark.parametrize("given", [0, -2, 1.5, "2", True, -1.0, []])
def test_what_is_no_number_of_threads_is_refused_by_name(given):
    with pytest.raises(ParameterError, match="n_jobs="):
        Resources.from_options(n_jobs=given)
