"""Progress for people; nothing in pipes and logs."""

import sys

import pytest

from tabpe._utils.progress import show_step_line
from tabpe.synthesizers.tabpe import show_round_bar


@pytest.mark.parametrize("visible", [True, False])
def test_nothing_is_shown_in_a_pipe(capsys, visible):
    with show_round_bar(3, 2, visible=visible) as show:
        show.rounds(1)
        show.shards(1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_rounds_and_classes(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    with show_round_bar(3, 2, visible=True) as show:
        show.rounds(1)
        show.shards(3, 8)
    shown = capsys.readouterr().err
    assert "round 1/3 over 2 classes, shard 3/8" in shown


@pytest.mark.parametrize("visible", [True, False])
def test_no_step_is_shown_in_a_pipe(capsys, visible):
    with show_step_line(visible=visible) as show:
        show("votes")
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_the_step(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_step_line(visible=True) as show:
        show("votes, opendp")
    assert "votes, opendp" in capsys.readouterr().err
