"""Tables as text: escaped, marked, and no wider than the terminal."""

import io
import re

import pandas as pd
import pytest
from made_runs import plausible, run
from rich.console import Console

from tabpe_lab.exhibits import TableEntry
from tabpe_lab.tables import (
    ResultColumn,
    ResultTable,
    build_table,
    latex,
    markdown,
    print_table,
)

NASTY = "50% of A&B_c | d * e # {f} $g ~ ^ \\ <h>"
MARKS = ["best", "second", "bound"]
ROWS = [("Adult", "AIM"), ("Adult", "MST"), ("Bank", "AIM")]
WIDE = tuple(f"{k}-wd" for k in range(1, 8))


@pytest.fixture
def table():
    columns = (
        ResultColumn("Accuracy ↑", ["83.36 ± 0.41", "80.00 ± 1.00", "90.00"], MARKS),
        ResultColumn("1-WD ↓", ["0.017", "-", "0.020"], ["plain", "words", "plain"]),
    )
    return make("Title", ROWS, columns, ["Means of 3 seeds."])


def make(title, rows, columns, notes=()):
    index = pd.MultiIndex.from_tuples(rows, names=["Data", "Method"][: len(rows[0])])
    return ResultTable.from_columns(title, index, columns, notes)


def shown(table, width):
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    print_table(table, console)
    return console.file.getvalue()


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_markdown_marks_best_second_and_bound(table):
    text = markdown(table)
    assert "| Adult | AIM | **83.36 ± 0.41** | 0.017 |" in text
    assert "|  | MST | <u>80.00 ± 1.00</u> | - |" in text
    assert "| Bank | AIM | *90.00* | 0.020 |" in text
    assert "Means of 3 seeds." in text


def test_every_row_of_markdown_has_the_same_number_of_cells(table):
    lines = [line for line in markdown(table).splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {5}


def test_latex_is_booktabs_with_a_rule_between_data_sets(table):
    text = latex(table)
    assert text.count(r"\midrule") == 2
    assert r"Adult & AIM & \textbf{83.36 $\pm$ 0.41} & 0.017 \\" in text
    assert r"\underline{80.00 $\pm$ 1.00}" in text
    assert r"\textit{90.00}" in text
    assert r"Accuracy $\uparrow$ & 1-WD $\downarrow$" in text


def test_what_latex_would_read_is_escaped():
    text = latex(make(NASTY, [(NASTY, "x")], [ResultColumn("A", ["1"], ["plain"])], [NASTY]))
    body = re.sub(
        r"\\(textbackslash|textasciitilde|textasciicircum|textless|textgreater)\{\}", "", text
    )
    head, _, rest = body.partition(r"\midrule")
    assert re.findall(r"(?<!\\)[%#$&_]", rest.split(r"\\")[0].replace(" & ", " ")) == []
    assert r"50\% of A\&B\_c" in head + rest


def test_what_markdown_would_read_is_escaped():
    text = markdown(make(NASTY, [(NASTY, "x")], [ResultColumn("A", ["1"], ["plain"])]))
    line = text.splitlines()[4]
    assert len(re.findall(r"(?<!\\)\|", line)) == 4
    assert r"d \* e" in line
    assert r"\<h\>" in line


@pytest.mark.parametrize(("width", "blocks"), [(60, 4), (80, 3), (200, 1)])
def test_a_terminal_shows_all_columns_within_its_width(width, blocks):
    entry = TableEntry("distances", "Distances", WIDE)
    runs = [
        run(data, method, seed, metrics=plausible(data, method, seed))
        for data in ("artificial-characters", "person-activity")
        for method in ("real", "tabpe", "aim")
        for seed in range(3)
    ]
    text = plain(shown(build_table(entry, runs), width))
    assert max(map(len, text.splitlines())) <= width
    assert all(f"{k}-WD" in text for k in range(1, 8))
    assert len(re.findall("^Artificial", text, re.MULTILINE)) == blocks


def test_a_number_of_the_paper_is_never_parted_from_ours():
    entry = TableEntry("u", "U", ("accuracy", "macro_f1", "1-wd"), paper="low-order-real")
    runs = [run("adult", "aim", metrics=plausible("aim"))]
    text = plain(shown(build_table(entry, runs, beside_paper=True), 60))
    heads = [line for line in text.splitlines() if line.startswith("Data")]
    assert [line.count("paper") for line in heads] == [
        line.count("↑") + line.count("↓") for line in heads
    ]


def test_brackets_in_names_are_text_and_no_markup():
    columns = [ResultColumn("A", ["[red]1"], ["plain"])]
    text = plain(shown(make("[blink]T", [("[bold]x[/bold]",)], columns, ["[u]note"]), 80))
    assert all(part in text for part in ("[bold]x[/bold]", "[red]1", "[blink]T", "[u]note"))
