"""The tutorials run as they are written, on fewer rows."""

import re
import shlex
from pathlib import Path

import matplotlib as mpl
import pytest
from typer.testing import CliRunner

from tabpe.cli.app import app
from tabpe_lab.cli import app as lab

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "tutorials"
MOST_WORDS = 1200
PROGRAMS = {"tabpe": app, "tabpe-lab": lab}
# Elsewhere tested on pages of their own: they take long.
LONG = ("tabpe evaluate", "pip", "make", "python", "source", ".venv")


def read_blocks(page, language):
    text = (FOLDER / f"{page}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)\n```", text, flags=re.DOTALL | re.MULTILINE)


def run_commands(page):
    """Run the commands of a page, and return what each printed."""
    printed = {}
    for line in "\n".join(read_blocks(page, "sh")).splitlines():
        if line.startswith(LONG):
            continue
        # One run of the experiment is enough.
        name, *words = shlex.split(line.replace("--only tabpe", "--only 'tabpe, xor features=2'"))
        result = CliRunner().invoke(PROGRAMS[name], words)
        assert result.exit_code == 0, (line, result.output)
        printed[line] = result.stdout
    return printed


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))


def test_the_first_release_is_made_from_the_export_of_the_page():
    (script,) = read_blocks("first-release", "python")
    exec(script.replace("ROWS = 4000", "ROWS = 800"), {})
    drafted = CliRunner().invoke(app, ["schema", "init", "export.csv", "-o", "draft.yaml"])
    (told,) = read_blocks("first-release", "text")
    printed = " ".join(drafted.stdout.split())
    for line in told.splitlines():
        assert " ".join(line.split()) in printed
    (schema,) = read_blocks("first-release", "yaml")
    Path("schema.yaml").write_text(schema)
    # The draft would replace the schema of the page.
    commands = read_blocks("first-release", "sh")
    assert commands[2] == "tabpe schema init export.csv -o schema.yaml"
    for line in commands[3:]:
        if line.startswith(LONG):
            continue
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, (line, result.output)
        if "schema check" in line:
            assert "all fields are declared public" in result.stdout
    assert Path("synthetic.certificate.html").exists()
    head = Path("synthetic.csv").read_text().splitlines()[0]
    assert not {"Patient", "Name", "E-mail"} & set(head.split(","))


def test_the_code_for_data_scientists_runs():
    pytest.importorskip("sklearn")
    mpl.use("Agg")
    names = {}
    for code in read_blocks("notebook", "python"):
        # Fewer rows, and the strategy that is faster.
        fewer = code.replace("hospital_table(4000)", "hospital_table(600)")
        fewer = fewer.replace("TabPE(epsilon=1.0", 'TabPE(preset="paper", epsilon=1.0')
        fewer = fewer.replace("sample(200", "sample(5")
        exec(fewer.replace("times=3", "times=2").replace("n_samples=500", "n_samples=60"), names)
    assert len(names["spread"]) == 2
    assert set(names["old_and_ill"]["readmitted"]) == {"yes"}


def test_the_commands_of_the_laboratory_run(monkeypatch):
    Path("lab").symlink_to(ROOT / "lab")
    printed = run_commands("reproduce-paper")
    table = next(text for line, text in printed.items() if line.startswith("tabpe-lab table"))
    assert "Tab-PE" in table
    assert Path("xor.svg").exists()
    assert Path("results/xor.quick.jsonl").exists()


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.stem)
def test_a_tutorial_is_short(page):
    assert len(page.read_text().split()) < MOST_WORDS
    assert max(map(len, page.read_text().splitlines())) < 200
