"""Bad input: one readable line, exit code 2, and nothing written; bad cells stop nothing."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tabpe.cli import console
from tabpe.errors import BudgetError
from tabpe.synthesizers.tabpe import TabPE

SECRET = "s3cr3t-cell"


def assert_refused(result, folder: Path, *words: str, code: int = 2) -> None:
    lines = result.stderr.splitlines()
    assert result.exit_code == code, result.output
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0]
    assert result.stdout == ""
    assert not [path for path in folder.iterdir() if "out" in path.name]


def assert_made(result, folder: Path) -> None:
    assert result.exit_code == 0, result.output
    assert (folder / "out.csv").exists()


def rewrite(folder: Path, change) -> None:
    lines = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join(change(lines)) + "\n")


def with_cell(lines: list[str], row: int, column: str, cell: str) -> list[str]:
    place = lines[0].split(",").index(column)
    cells = lines[row].split(",")
    cells[place] = cell
    return [*lines[:row], ",".join(cells), *lines[row + 1 :]]


def test_an_empty_file(synth, folder):
    (folder / "data.csv").write_text("")
    assert_refused(synth(), folder, "data.csv", "empty")


def test_a_header_only_is_as_good_as_one_row(synth, folder):
    """Or one row would decide whether there is a release."""
    rewrite(folder, lambda lines: lines[:1])
    assert synth().exit_code == 0


def test_a_missing_file(tabpe, folder):
    result = tabpe("synth", "nowhere.csv", "--schema", "schema.yaml", "-o", "out.csv")
    assert_refused(result, folder, "nowhere.csv", "no such file")


def test_a_wrong_label(synth, folder):
    assert_refused(synth("--label", "readmited"), folder, "did you mean 'readmitted'")


def test_a_numeric_label_without_cuts(synth, folder):
    assert_refused(synth("--label", "age"), folder, "'age'", "label_cuts")


def test_an_all_null_column(synth, folder):
    def emptied(lines):
        for row in range(1, len(lines)):
            lines = with_cell(lines, row, "haemoglobin", "")
        return lines

    rewrite(folder, emptied)
    assert_refused(synth("--strict"), folder, "haemoglobin", "no value")
    assert_made(synth(), folder)


def test_nan_in_numbers(synth, folder):
    rewrite(folder, lambda lines: with_cell(lines, 7, "haemoglobin", "nan"))
    assert_refused(synth("--strict"), folder, "haemoglobin", "row 7")
    assert_made(synth(), folder)


def test_an_empty_number(synth, folder):
    rewrite(folder, lambda lines: with_cell(lines, 9, "age", ""))
    assert_refused(synth("--strict"), folder, "'age'", "row 9")
    assert_made(synth(), folder)


@pytest.mark.parametrize("column", ["age", "ward", "new_drug", "readmitted"])
def test_a_cell_outside_the_schema_stops_nothing_and_is_never_shown(synth, folder, column):
    rewrite(folder, lambda lines: with_cell(lines, 5, column, SECRET))
    strict = synth("--strict")
    assert_refused(strict, folder, column, "row 5")
    assert SECRET not in strict.output
    result = synth()
    assert_made(result, folder)
    assert SECRET not in result.output
    assert SECRET not in (folder / "out.csv").read_text()


def test_a_strict_run_says_what_it_does_not_cover(synth, folder):
    assert_made(synth("--strict"), folder)
    said = json.loads((folder / "out.certificate.json").read_text())
    assert said["strict"] is True
    assert any(line.startswith("Refusals:") for line in said["guarantee"]["not_guaranteed"])


def test_a_ragged_row_is_named_and_never_shown(synth, folder):
    rewrite(folder, lambda lines: [*lines[:3], f"{SECRET},1,2", *lines[3:]])
    result = synth()
    assert_refused(result, folder, "row 3", "3 cells")
    assert SECRET not in result.output


def test_a_duplicate_header(synth, folder):
    rewrite(folder, lambda lines: [lines[0].replace("sex", "age"), *lines[1:]])
    assert_refused(synth(), folder, "have the same name")


def test_a_missing_column(synth, folder):
    rewrite(folder, lambda lines: [lines[0].replace("age", "ages"), *lines[1:]])
    assert_refused(synth(), folder, "'age'", "did you mean 'ages'")


def test_a_foreign_encoding(synth, folder):
    (folder / "data.csv").write_bytes("naïve,b\n1,2\n".encode("latin-1"))
    assert_refused(synth(), folder, "UTF-8")


@pytest.mark.parametrize("epsilon", ["0", "-1", "inf", "nan"])
def test_epsilon(synth, folder, epsilon):
    assert_refused(synth("--epsilon", epsilon), folder, "epsilon")


@pytest.mark.parametrize("delta", ["0", "1", "2", "nan", "-1e-5"])
def test_delta(synth, folder, delta):
    assert_refused(synth("--delta", delta), folder, "delta")


def test_fewer_rows_than_classes(synth, folder):
    assert_refused(synth("--rows", 1), folder, "n_samples=1", "2 classes")


def test_no_rows_to_write_is_refused_before_the_budget_is_spent(synth, folder, monkeypatch):
    monkeypatch.setattr(TabPE, "fit", lambda *_: pytest.fail("the rows were read"))
    assert_refused(synth("--rows", 0, "--evolve", 30), folder, "rows=0")


def test_an_unknown_preset(synth, folder):
    assert_refused(synth("--preset", "papr"), folder, "did you mean 'paper'")


def test_an_unknown_adjacency(synth, folder):
    assert_refused(synth("--adjacency", "swap"), folder, "adjacency", "replace-one")


def test_an_unknown_noise(synth, folder):
    assert_refused(synth("--noise", "exct"), folder, "did you mean 'exact'")


def test_noise_that_drowns_any_table(synth, folder):
    assert_refused(synth("--epsilon", "1e-5"), folder, "larger than any table")


def test_a_negative_seed(synth, folder):
    assert_refused(synth("--seed", "-1"), folder, "random_state")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--engine", "streem"), "did you mean 'stream'"),
        (("--memory-limit", "lots"), "memory_limit='lots'"),
        (("--memory-limit", "0"), "memory_limit='0'"),
        (("--spill-dir", "nowhere"), "spill='nowhere'"),
        (("--spill-dir", "data.csv"), "spill='data.csv'"),
        (("--spill-dir", ".", "--no-spill"), "--no-spill"),
        (("--jobs", "0"), "n_jobs=0"),
        (("--jobs", "-2"), "n_jobs=-2"),
    ],
)
def test_what_the_machine_can_not_give(synth, folder, words, said):
    assert_refused(synth(*words), folder, said)


@pytest.mark.parametrize(
    "words", [[], ["--engine", "stream"], ["--engine", "stream", "--no-spill"]]
)
def test_in_strict_mode_a_bad_cell_in_a_folder_is_named_by_file_and_row(tabpe, folder, words):
    (folder / "in").mkdir()
    (folder / "in" / "a.csv").write_text((folder / "data.csv").read_text())
    rewrite(folder, lambda lines: with_cell(lines, 5, "age", SECRET))
    (folder / "data.csv").rename(folder / "in" / "b.csv")
    usual = ("--schema", "schema.yaml", "--strict", "-o", "out.csv")
    result = tabpe("synth", "in", *usual, *words)
    assert_refused(result, folder, "in/b.csv: column 'age'", "row 5")
    assert SECRET not in result.output


def test_an_empty_folder(tabpe, folder):
    (folder / "in").mkdir()
    result = tabpe("synth", "in", "--schema", "schema.yaml", "-o", "out.csv")
    assert_refused(result, folder, "in: no file in this folder")


@pytest.mark.parametrize("entry", ["no", "no=x", "maybe=1"])
def test_a_wrong_class_share(synth, folder, entry):
    assert_refused(synth("--class-share", entry), folder)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("columns: [", "line"),
        ("- just\n- a list\n", "mapping"),
        ("columns:\n- {name: age, type: int, min: 0, max: 9}\n", "did you mean 'integer'"),
        ("columns:\n- {name: age, type: integer, min: 9, max: 0}\n", "min=9"),
        ("columns:\n- {name: a, type: boolean}\n- {name: a, type: boolean}\n", "twice"),
        ("colums: []\n", "did you mean 'columns'"),
    ],
)
def test_an_unreadable_schema(synth, folder, text, word):
    (folder / "schema.yaml").write_text(text)
    assert_refused(synth(), folder, word)


def test_a_missing_schema(synth, folder):
    assert_refused(synth("--schema", "nowhere.yaml"), folder, "nowhere.yaml")


def test_a_missing_output_folder(synth, folder):
    assert_refused(synth("-o", "there/out.csv"), folder, "folder", "does not exist")


def test_an_unknown_output_format(synth, folder):
    assert_refused(synth("-o", "out.xlsx"), folder, ".parquet")


@pytest.mark.parametrize("name", ["kept.csv", "kept.certificate.json"])
def test_an_existing_file_without_force(synth, folder, name):
    (folder / name).write_text("mine")
    assert_refused(synth("-o", "kept.csv"), folder, name, "--force")
    assert (folder / name).read_text() == "mine"


@pytest.mark.parametrize("name", ["kept.csv", "kept.certificate.json"])
def test_a_link_is_not_overwritten_even_with_force(synth, folder, name):
    (folder / "mine.txt").write_text("mine")
    (folder / name).symlink_to("mine.txt")
    assert_refused(synth("-o", "kept.csv", "--force"), folder, name, "a link")
    assert (folder / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("source", ["data.csv", "schema.yaml"])
@pytest.mark.parametrize("name", ["kept.csv", "kept.certificate.json"])
def test_an_input_is_not_overwritten_even_with_force(synth, folder, source, name):
    content = (folder / source).read_bytes()
    (folder / name).hardlink_to(folder / source)
    assert_refused(synth("-o", "kept.csv", "--force"), folder, "same file as the input")
    assert (folder / source).read_bytes() == content


def test_a_file_of_a_folder_is_not_overwritten_even_with_force(tabpe, folder):
    (folder / "in").mkdir()
    (folder / "data.csv").rename(folder / "in" / "data.csv")
    words = ("synth", "in", "--schema", "schema.yaml", "-o", "./in/../in/data.csv", "--force")
    assert_refused(tabpe(*words), folder, "same file as the input")


def test_a_draft_does_not_overwrite_its_table(tabpe, folder):
    (folder / "kept.yaml").hardlink_to(folder / "data.csv")
    result = tabpe("schema", "init", "data.csv", "-o", "kept.yaml", "--force")
    assert_refused(result, folder, "same file as the input")


@pytest.mark.parametrize(
    "words",
    [
        ("synth", "https://x/data.csv", "--schema", "schema.yaml", "-o", "out.csv"),
        ("synth", "data.csv", "--schema", "https://x/schema.yaml", "-o", "out.csv"),
        ("synth", "data.csv", "--schema", "schema.yaml", "-o", "file:///tmp/out.csv"),
        ("schema", "init", "http://x/data.csv", "-o", "out.yaml"),
        ("schema", "init", "data.csv", "-o", "gs://b/out.yaml"),
        ("schema", "check", "s3://b/schema.yaml"),
        ("demo", "--dir", "s3://b/out"),
    ],
)
def test_a_url_is_no_path(tabpe, folder, words):
    assert_refused(tabpe(*words), folder, "a URL: expected a file")


def test_a_limit_of_the_environment_holds(synth, folder, monkeypatch):
    monkeypatch.setenv("TABPE_MAX_ROWS", "100")
    result = synth()
    assert_refused(result, folder, "data.csv: more than 100 rows", "TABPE_MAX_ROWS")
    assert "400" not in result.output


def test_a_tiny_table_without_delta(tabpe, folder):
    rewrite(folder, lambda lines: lines[:40])
    result = tabpe("synth", "data.csv", "--schema", "schema.yaml", "-o", "out.csv")
    assert_refused(result, folder, "delta", "public_rows")


def test_a_refused_budget_has_its_own_exit_code(synth, folder, monkeypatch):
    def refuse(*_):
        raise BudgetError("votes: not agreed on.")

    monkeypatch.setattr(TabPE, "fit", refuse)
    assert_refused(synth(), folder, "not agreed on", code=3)


def test_an_unforeseen_error_shows_its_place_and_not_its_message(synth, folder, monkeypatch):
    def fail(*_):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(TabPE, "fit", fail)
    monkeypatch.delenv("TABPE_DEBUG", raising=False)
    result = synth()
    assert_refused(result, folder, "RuntimeError", "test_bad_input.py", code=1)
    assert SECRET not in result.output


def test_debug_shows_all_of_an_unforeseen_error(synth, monkeypatch):
    def fail(*_):
        raise RuntimeError(SECRET)

    monkeypatch.setattr(TabPE, "fit", fail)
    monkeypatch.setenv("TABPE_DEBUG", "1")
    assert isinstance(synth().exception, RuntimeError)


def test_an_interrupt_is_one_line(synth, folder, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TabPE, "fit", interrupt)
    assert_refused(synth(), folder, "interrupted", code=console.INTERRUPTED)


# Says when it is in the middle of a run, and stays there.
LONG_RUN = """
import signal, sys, time
from tabpe.measurement import PrivateSession
from tabpe.cli import main

def votes(*_, **__):
    print("voting", flush=True)
    time.sleep(3600)

PrivateSession.count_votes = votes
signal.signal(signal.SIGINT, signal.default_int_handler)  # A job in the background ignores it.
sys.argv = ["tabpe", *sys.argv[1:]]
main()
"""


def test_ctrl_c_in_the_middle_leaves_no_file(folder):
    arguments = ["synth", "data.csv", "--schema", "schema.yaml", "--delta", "1e-6", "-o", "out.csv"]
    with subprocess.Popen(
        [sys.executable, "-c", LONG_RUN, *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout.readline() == "voting\n"
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=600)
        finally:
            process.kill()
    assert process.returncode == 2
    assert output == ""
    assert errors == "error: interrupted; no output was written.\n"
    assert not [path for path in folder.iterdir() if "out" in path.name]


def test_words_of_the_wrong_type_are_wrong_use(synth):
    assert synth("--epsilon", "much").exit_code == 2
    assert synth("--no-such-option").exit_code == 2
