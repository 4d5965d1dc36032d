"""What the README shows works as it stands there."""

import json
import re
import shlex
from collections import defaultdict
from pathlib import Path
from statistics import mean, stdev

import pytest
from typer.testing import CliRunner

from tabpe.cli.app import app
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table
from tabpe.schema import Schema
from tabpe_lab.records import read_records

RESULTS = Path(__file__).parents[2] / "lab" / "benchmarks" / "results"
EXPERIMENTS = Path(__file__).parents[2] / "lab" / "results"
STUDENT_OF_FIVE = 2.776  # of five seeds, for 95%
README = (Path(__file__).parents[2] / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture
def patients(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    table = hospital_table(1500)
    with Path("patients.csv").open("wb") as file:
        make_table_writer(table, Path("patients.csv"))(file)
    hospital_schema().save("schema.yaml")
    return table.to_pandas()


def test_the_python_example_runs(patients, capsys):
    (code,) = blocks("python")
    names = {"patients": patients}
    exec(code, names)
    assert list(names["synthetic"].dtypes) == list(patients.dtypes)
    assert "differential privacy" in capsys.readouterr().out


def test_the_commands_run(patients):
    commands = [line for line in "\n".join(blocks("sh")).splitlines() if line.startswith("tabpe ")]
    assert len(commands) == 7
    Path("schema.yaml").unlink()
    for command in commands:
        result = CliRunner().invoke(app, shlex.split(command, comments=True)[1:])
        assert result.exit_code == 0, result.output
    for name in ("synthetic", "released"):
        assert Path(f"{name}.csv").exists()
        assert Path(f"{name}.certificate.json").exists()


def test_the_commands_that_set_up_come_first():
    assert re.findall(r"^make (\w+)", blocks("sh")[0], flags=re.MULTILINE) == ["demo", "test"]


def test_the_schema_example_is_a_schema(tmp_path):
    (text,) = blocks("yaml")
    (tmp_path / "schema.yaml").write_text(text)
    schema = Schema.load(tmp_path / "schema.yaml")
    assert schema.class_names == ("no", "yes")
    assert schema.fields_from_data == ()


def test_every_command_of_make_that_it_names_exists():
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    for target in re.findall(r"make ([a-z]+)", README):
        assert f"\n{target}:" in makefile


def test_every_file_that_it_links_to_exists():
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (Path(__file__).parents[2] / target).exists(), target


METHODS = {
    "*real rows*": "real",
    "tabpe, preset `paper`": "tabpe",
    "PrivSyn": "privsyn",
    "RAP++": "rap++",
    "PrivGSD": "privgsd",
    "AIM": "aim",
    "GEM": "gem",
    "MST": "mst",
    "PrivMRF": "privmrf",
    "Independent": "independent",
}
DATA = {"artificial-characters": "high-order.small", "adult": "low-order.small"}
METRICS = ("accuracy", "2-wd")


def average_best(file: str, data: str, method: str) -> tuple[int, list[str]]:
    """Return the seeds and the means of the setting that the validation rows prefer."""
    settings = defaultdict(list)
    for record in read_records(EXPERIMENTS / f"{file}.jsonl"):
        if (record.data, record.method, record.status) == (data, method, "done"):
            settings[str(sorted(record.settings.items()))].append(record.metrics)
    runs = max(settings.values(), key=lambda of: mean(run["validation_accuracy"] for run in of))
    return len(runs), [f"{mean(run[metric] for run in runs):.3f}" for metric in METRICS]


def find_row(name: str) -> str:
    (row,) = [line for line in README.splitlines() if line.startswith(f"| {name} |")]
    return row


def read_cells(name: str) -> list[str]:
    return [cell.strip(" *") for cell in find_row(name).strip("|").split("|")[1:]]


def test_the_results_are_those_of_the_committed_records():
    for name, method in METHODS.items():
        found = [figure for data in DATA for figure in average_best(DATA[data], data, method)[1]]
        assert read_cells(name) == found, name
    ours = [
        figure for data in DATA for figure in average_best("beyond/rivals.full", data, "tabpe")[1]
    ]
    assert read_cells("**tabpe, default**") == ours


def test_the_best_of_each_column_is_bold_and_only_it():
    rows = ["**tabpe, default**", *list(METHODS)[1:]]
    for place, best_of in enumerate((max, min, max, min)):
        best = best_of(read_cells(name)[place] for name in rows)
        for name in rows:
            cell = find_row(name).strip("|").split("|")[1:][place].strip()
            if name != "tabpe, preset `paper`" and cell.startswith("**"):
                assert cell == f"**{best}**", (name, place)


def test_the_number_of_seeds_is_as_it_says():
    for method in ("tabpe", "aim", "privsyn", "real"):
        assert {average_best(DATA[data], data, method)[0] for data in DATA} == {3}
    assert average_best("beyond/rivals.full", "adult", "tabpe")[0] == 3


def list_confirmed(against: str) -> list[str]:
    """Return the data sets of the confirmation where the default is ahead, by a 95% interval."""
    records = read_records(EXPERIMENTS / "beyond" / "confirmation.full.jsonl")
    scores = defaultdict(dict)
    for record in records:
        case = f"{record.data} {record.data_options or ''}".strip()
        scores[case, record.called][record.seed] = record.metrics["accuracy"]
    ahead = []
    for case in sorted({case for case, _ in scores}):
        gains = [scores[case, "Best"][seed] - scores[case, against][seed] for seed in range(5)]
        if mean(gains) - STUDENT_OF_FIVE * stdev(gains) / 5**0.5 > 0:
            ahead.append(case)
    return ahead


def test_the_default_is_ahead_on_as_many_data_sets_as_it_says():
    assert "On [twelve data sets]" in README
    assert "on ten" in " ".join(README.split())
    assert len(list_confirmed("Paper")) == 10


def test_the_times_are_those_of_the_committed_results():
    voting, rivals, scores, strategies, streaming = (
        json.loads((RESULTS / f"{name}.json").read_text())
        for name in ("voting", "rivals", "quality", "strategies", "streaming")
    )
    rounds = [voting["cases"][case]["stages"]["R"]["passes"] for case in ("b", "c, N 50k")]
    for passes in rounds:
        own, faiss, torch = (
            f"{passes[system]['best_ms']:,.0f} ms"
            for system in ("tabpe", "faiss flat", "torch topk")
        )
        assert f" | {own} | faiss {faiss}, PyTorch {torch} |" in README
    for method in ("aim", "mst"):
        seconds = {who: run["seconds"] for who, run in rivals["means"][method].items()}
        row = f"| {method.upper()} on Adult | {seconds['tabpe']} s | dpmm {seconds['dpmm']} s |"
        assert row in README
    times = scores["results"]["default thresholds"]["seconds"]
    row = f"| {times['tabpe']:.2f} s | SDMetrics {times['sdmetrics']:.2f} s |"
    assert row in find_row("SDMetrics scores of Adult")
    default = strategies["strategies"]["best"]
    million = min(default["rows"]["runs"]["1000000"]["seconds"])
    assert f"| {default['usual_s']:.1f} s |" in find_row("default, 35,000 rows, one thread")
    assert f"| {million:.0f} s |" in find_row("default, 1 million rows, one thread")
    run, *_ = streaming["runs"].values()
    name = f"paper's algorithm, 20 million rows from Parquet, in {run['peak_bytes'] / 1e6:.0f} MB"
    assert f"| {run['seconds']:.0f} s |" in find_row(name)
    assert streaming["rows"] == 20_000_000


def test_an_estimated_schema_costs_no_accuracy_as_it_says():
    """The certified epsilon of both runs is within the same request, and neither scores worse."""
    found = json.loads((RESULTS / "private_schema.json").read_text())
    assert "this costs no accuracy" in README
    assert found["drop"] <= 0.0
    assert found["results"]["estimated"]["epsilon"] <= 1.0
