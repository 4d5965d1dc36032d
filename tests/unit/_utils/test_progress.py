"""Progress for people; nothing in pipes and logs."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from tabpe._utils.progress import show_round_bar, show_section_bar, show_step_line


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


@pytest.fixture
def notebook(monkeypatch):
    """Return what a kernel was asked to display."""
    shown = []
    line = SimpleNamespace(update=shown.append)
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.HTML, display.display = str, lambda first, display_id: shown.append(first) or line
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_a_notebook_shows_rounds_sections_and_steps_and_clears_them(notebook, capsys):
    with show_round_bar(3, 2, visible=True) as show:
        show.rounds(1)
        show.shards(3, 8)
    assert notebook[-2].endswith("round 1/3 over 2 classes, shard 3/8")
    assert 'value="1" max="3"' in notebook[-2]
    with show_section_bar(4, visible=True) as begin:
        begin("columns")
        begin("<pairs>")
    assert notebook[-2].endswith("1/4 &lt;pairs&gt;")
    with show_step_line(visible=True) as step:
        step("votes")
    assert notebook[-2] == "votes"
    assert notebook[-1] == ""
    assert capsys.readouterr() == ("", "")


def test_a_notebook_is_silent_if_asked(notebook):
    with show_round_bar(3, 2, visible=False) as show:
        show.rounds(1)
    assert notebook == []
