"""One row, or one user, changes what it may and nothing else, however the tables are stored.

Each example draws a schema, a table, one row or user more, and a storage form for each of the
tables (`neighbours`, `storage`). TABPE_FUZZ=20000 tries that many examples in all.
"""

import pytest
from hypothesis import given

import storage
from neighbours import (
    ENGINES,
    ESTIMATED,
    USERS,
    assert_release,
    assert_rows,
    assert_same,
    assert_users,
    estimated_scenes,
    frame_forms,
    scenes,
    tried,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for files of one example, which need not outlive a loss of power."""
    monkeypatch.setattr("os.fsync", lambda _: None)
    return Emptied(tmp_path)


class Emptied:
    """A folder that is empty at the start of every example."""

    def __init__(self, path):
        self._path = path

    def __call__(self):
        """Empty it, and return its path."""
        storage.empty(self._path)
        return self._path


@tried("rows")
@given(scene=scenes(), engine=ENGINES)
def test_a_row_moves_histograms_by_itself_alone(folder, scene, engine):
    assert_rows(scene, folder(), engine)


@tried("users")
@given(scene=scenes(users=True), engine=ENGINES)
def test_a_user_moves_histograms_by_a_bounded_length_and_no_row_of_others(folder, scene, engine):
    assert_users(scene, folder(), engine)


@tried("same")
@given(scene=scenes())
def test_the_same_cells_have_one_fingerprint_and_one_draft(folder, scene):
    assert_same(scene, folder())


@tried("release")
@given(scene=scenes(most=12, forms=frame_forms))
def test_the_same_cells_give_the_same_release_and_a_row_changes_no_type(folder, scene):
    assert_release(scene, folder())


@tried("users' release")
@given(scene=scenes(users=True, most=12, forms=frame_forms))
def test_the_same_holds_for_users(folder, scene):
    assert_release(scene, folder(), **USERS)


@tried("estimated")
@given(scene=estimated_scenes())
def test_an_estimated_schema_is_released_whatever_the_row_is(folder, scene):
    assert_release(scene, folder(), **ESTIMATED)
