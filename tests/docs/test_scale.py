"""The figures of the page on clusters are those of the committed results."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "scale.md").read_text()
RESULTS = json.loads((ROOT / "lab" / "benchmarks" / "results" / "cluster.json").read_text())
COMPARED, KILLED = RESULTS["compared"], RESULTS["killed"]


def rate():
    """Rows a second and core: what more rows cost, so that what every run costs is left out."""
    seconds = KILLED["local"]["seconds"] - COMPARED["local"]["seconds"]
    return (KILLED["rows"] - COMPARED["rows"]) / seconds / COMPARED["workers"]


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_ratios_and_delays_are_those_measured():
    for engine in ("ray", "spark"):
        (line,) = re.findall(rf"^\| {engine.title()} \|.*$", PAGE, flags=re.MULTILINE)
        told, one, other = cells(line), COMPARED[engine], KILLED[engine]
        assert told[1] == f"{one['ratio']:.2f}"
        assert told[2] == f"{one['driver_mb'][0]:.0f} and {one['driver_mb'][1]:.0f} MB"
        assert told[3:5] == [f"{other['seconds']:.0f} s", f"{other['delay']:.0f} s"]


def test_what_was_asked_of_clusters_is_shown():
    assert COMPARED["ray"]["ratio"] <= 1.35
    assert COMPARED["spark"]["ratio"] <= 1.8
    for engine in ("ray", "spark"):
        assert KILLED[engine]["was_killed"]
        assert KILLED[engine]["same_table"]
        assert KILLED[engine]["charges"] == ["spent"]
        assert len(set(COMPARED[engine]["bytes_per_round"])) == 1


def test_the_sizing_table_follows_from_the_rate():
    assert f"{round(rate(), -3):,.0f} rows a second and core" in PAGE
    head, *lines = re.findall(r"^\| (?:rows|[0-9]+ million|1 billion) \|.*$", PAGE, re.MULTILINE)
    workers = [int(cell.split()[0]) for cell in cells(head)[1:]]
    assert len(lines) == 4
    for line in lines:
        name, *told = cells(line)
        rows = int(name.split()[0]) * (10**9 if "billion" in name else 10**6)
        assert told == [worded(rows / rate() / count) for count in workers]


def worded(seconds):
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
