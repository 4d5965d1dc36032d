"""Write the times and sizes that pages quote, from the records of the benchmarks.

    python tools/write_speed.py

The records are those of lab/benchmarks/results; what has no record yet is left out of the pages.
Rows of the table of speed in README.md keep their names. On other pages, what stands between marks
is replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "lab" / "benchmarks" / "results"
BEGIN, END = "<!-- speed: begin (tools/write_speed.py) -->", "<!-- speed: end -->"
WIDTH = 99
WORKERS = (2, 8, 32, 128)
SIZES = {"5 million": 5e6, "20 million": 2e7, "100 million": 1e8, "1 billion": 1e9}
LONG = 120.0  # Seconds from here on are told in minutes.
FORMER_NOISE = "noise from a table that tabpe then had"
Record = dict[str, Any]


def read_record(name: str) -> Record:
    """Return a record; empty if there is none."""
    path = RECORDS / f"{name}.json"
    found: Record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def render_readme(text: str) -> str:
    """Return the README with the rows of its table of speed."""
    cases, default = read_record("voting")["cases"], read_record("strategies")["strategies"]["best"]
    streaming = read_record("streaming")
    run = next(iter(streaming["runs"].values()))
    millions = f"{streaming['rows'] // 10**6} million rows"
    memory = f"{run['peak_bytes'] / 1e6:.0f} MB"
    rows = {
        "one round of votes, 115,000 rows": _compare_votes(cases["b"]),
        "the same, 250,000 rows, 100,000 candidates": _compare_votes(cases["c, N 50k"]),
        "default, 35,000 rows, one thread": f"{default['usual_s']:.1f} s | ",
        "default, 1 million rows, one thread": f"{_get_million(default):.0f} s | ",
        f"paper's algorithm, {millions} from Parquet, in {memory}": f"{run['seconds']:.0f} s | ",
    }
    for name, cells in rows.items():
        known = re.escape(name).replace(re.escape(memory), r"[0-9]+\ MB")
        row = f"| {name} | {cells}|"
        text, count = re.subn(
            rf"^\| {known} \|.*$", lambda _, row=row: row, text, flags=re.MULTILINE
        )
        if count != 1:
            raise SystemExit(f"README.md: expected one row for {name!r}, found {count}.")
    return text


def _compare_votes(case: Record) -> str:
    passes = case["stages"]["R"]["passes"]
    own, faiss, torch = (
        f"{passes[name]['best_ms']:,.0f} ms" for name in ("tabpe", "faiss flat", "torch topk")
    )
    return f"{own} | faiss {faiss}, PyTorch {torch} "


def _get_million(strategy: Record) -> float:
    return float(min(strategy["rows"]["runs"]["1000000"]["seconds"]))


def render_default() -> Iterator[str]:
    """Yield what the default costs."""
    found = read_record("strategies")["strategies"]
    best, paper = found["best"], found["paper"]
    yield (
        f"On one thread, 35,000 rows of ten numbers and a label take {best['usual_s']:.1f} s; the "
        f"paper's algorithm takes {paper['usual_s']:.1f} s "
        "([`strategies.json`](../../lab/benchmarks/results/strategies.json)). A million rows take "
        f"{_get_million(best):.0f} s."
    )


def render_log() -> Iterator[str]:
    """Yield the times of the strategies in the log of the experiment."""
    found = read_record("strategies")["strategies"]
    tuned = found["tuned, warped"]
    yield (
        "One thread, 35,000 rows of ten numbers and a label, `python -m benchmarks.strategies` "
        "([`strategies.json`](../benchmarks/results/strategies.json)): the paper's algorithm takes "
        f"{found['paper']['usual_s']:.1f} s, and the default, which makes as many rows as it was "
        f"given, {found['best']['usual_s']:.1f} s; for a million rows "
        f"{_get_million(found['best']):.0f} s. The paper's algorithm as it was "
        f"[tuned](#the-papers-algorithm-tuned) takes {tuned['usual_s']:.1f} s."
    )


def render_noise() -> Iterator[str]:
    """Yield how fast noise is."""
    found = read_record("noise")
    sigmas = [f"{float(sigma):,.0f}" for sigma in found["draws"]]
    times = [f"{draw['exact_ns']:.0f}" for draw in found["draws"].values()]
    ratios = [f"{draw['ratio']:,.0f}" for draw in found["draws"].values()]
    most = max(run["share"] for run in found["runs"].values())
    yield (
        f"A draw of sigma {_join(sigmas)} takes {_join(times)} ns, and OpenDP takes "
        f"{_join(ratios)} times as long. Noise takes at most {100 * most:.1f}% of a run of any "
        "strategy, also with users "
        "([`noise.json`](../../lab/benchmarks/results/noise.json), `python -m benchmarks.noise`)."
    )


def render_authors() -> Iterator[str]:
    """Yield how whole runs compare with those of the authors' package."""
    found = read_record("authors")
    if not found:
        return
    yield "## The package of the paper's authors"
    yield ""
    yield "Whole runs of the paper's algorithm, one thread, 2,000 rows, epsilon 1, packages loaded:"
    yield ""
    yield "| table | package of the authors, torch | preset `paper` | times faster |"
    yield "|---|---|---|---|"
    for key, name in (("a", "35,000 rows, ten numbers"), ("d", "Adult, 8 of 14 listed")):
        runs, gains = found["cases"][key]["runs"], found["cases"][key]["times_faster"]
        seconds = " | ".join(f"{runs[who]['seconds']:.2f} s" for who in ("authors", "paper"))
        yield f"| {name} | {seconds} | {gains['paper']:.0f} |"
    yield ""
    yield (
        "Theirs is `pe` of microsoft/DPSDA "
        "([`authors.json`](../../lab/benchmarks/results/authors.json), "
        "`python -m benchmarks.authors`)."
    )


def render_large() -> Iterator[str]:
    """Yield how long very large tables take, and how time grows."""
    for name in ("streaming-100m", "streaming"):
        found = read_record(name)
        runs = {
            preset: found.get("runs", {}).get(f"{preset}, stream") for preset in ("best", "paper")
        }
        if all(runs.values()):
            yield from _describe_streamed(name, found, runs)
            break
    growth = read_record("growth").get("presets")
    if growth:
        yield ""
        yield from _describe_growth(growth)


def _describe_streamed(name: str, found: Record, runs: dict[str, Any]) -> Iterator[str]:
    yield (
        f"Measured on {found['machine']['cores']} cores "
        f"([`{name}.json`](../../lab/benchmarks/results/{name}.json)): {found['rows'] // 10**6} "
        f"million rows, {found['columns']} columns, {found['parquet_bytes'] / 1e9:.1f} GB of "
        "Parquet."
    )
    yield ""
    yield "| preset | time | a round | peak memory | bound by | a round takes |"
    yield "|---|---|---|---|---|---|"
    for preset, run in runs.items():
        bound = {"kernel": "the search", "disk": "the disk", "memory": "memory"}[run["bound"]]
        yield (
            f"| `{preset}` | {_say_time(run['seconds'])} | {run['round_s']:.1f} s"
            f" | {run['peak_bytes'] / 1e6:,.0f} MB | {bound}"
            f" | {run['of_bound']:.1f} times that alone |"
        )


def _describe_growth(growth: Record) -> Iterator[str]:
    sizes = list(growth["best"])
    yield "Slopes of the logarithm of the time of one core against that of the size"
    yield "([`growth.json`](../../lab/benchmarks/results/growth.json)):"
    yield ""
    yield f"| preset | {' | '.join(sizes)} |"
    yield f"|---|{'---|' * len(sizes)}"
    for preset in ("best", "paper"):
        slopes = " | ".join(f"{growth[preset][size]['slope']:.2f}" for size in sizes)
        yield f"| `{preset}` | {slopes} |"
    yield ""
    yield "[The picture](../../lab/benchmarks/results/growth.svg) has every run."


def render_clusters() -> Iterator[str]:
    """Yield the comparison of engines, and what to expect of more workers."""
    found = read_record("cluster")
    compared, killed = found["compared"], found["killed"]
    noise = {"exact": "exact noise"}.get(compared.get("noise"), FORMER_NOISE)
    yield (
        "Measured on one machine with two cores: the paper's preset, 2,000 candidates, 15 rounds, "
        f"6 numbers and 3 categories, {noise}, or fake noise where tables are compared "
        "([`cluster.json`](../../lab/benchmarks/results/cluster.json), "
        "`python -m benchmarks.cluster`, and with `--rows 20000000 --kill`). Two workers, against "
        "two threads of one process:"
    )
    yield ""
    yield (
        "| | time on 5 million rows, as a part of that of threads | memory of the driver at 1 and "
        "at 5 million rows | 20 million rows, two nodes | the same, a worker killed in mid-round: "
        "later by |"
    )
    yield "|---|---|---|---|---|"
    for engine in ("ray", "spark"):
        one, other = compared[engine], killed[engine]
        memory = " and ".join(f"{size:.0f}" for size in one["driver_mb"])
        yield (
            f"| {engine.title()} | {one['ratio']:.2f} | {memory} MB | {other['seconds']:.0f} s"
            f" | {other['delay']:.0f} s |"
        )
    yield ""
    starts = (f"{compared[engine]['start_seconds']:.0f} s for" for engine in ("ray", "spark"))
    ray, spark = starts
    yield (
        f"Threads took {compared['local']['seconds']:.0f} s for 5 million rows and "
        f"{killed['local']['seconds']:.0f} s for 20 million. The synthetic tables were the same, "
        "also after a loss, and the ledger was charged once. To start a cluster, or a session on "
        f"one, comes on top on 5 million rows ({ray} Ray, {spark} Spark); on 20 million joining it "
        "is part of the time."
    )
    yield ""
    if "compared, best" in found:
        yield _describe_best(found["compared, best"])
        yield ""
    seconds = killed["local"]["seconds"] - compared["local"]["seconds"]
    rate = (killed["rows"] - compared["rows"]) / seconds / compared["workers"]
    yield (
        f"That is {round(rate, -3):,.0f} rows a second and core for all 15 rounds of the preset "
        "`paper`, reading included. So expect, for that preset and that many columns:"
    )
    yield ""
    yield f"| rows | {' | '.join(f'{count} workers' for count in WORKERS)} |"
    yield f"|---|{'---|' * len(WORKERS)}"
    for name, rows in SIZES.items():
        cells = " | ".join(_say_time(rows / rate / count) for count in WORKERS)
        yield f"| {name} | {cells} |"
    yield ""
    yield (
        "Only the column of 2 workers was checked, at 20 million rows: "
        f"{_say_time(2e7 / rate / 2)} expected, {killed['ray']['seconds']:.0f} s on Ray and "
        f"{killed['spark']['seconds']:.0f} s on Spark."
    )


def _describe_best(best: Record) -> str:
    same = "were the same" if best.get("same_tables") else "DIFFERED"
    return (
        f"The default (`best`) on {best['rows'] // 10**6} million rows took "
        f"{best['local']['seconds']:.0f} s with threads, {best['ray']['seconds']:.0f} s on two "
        f"workers of Ray and {best['spark']['seconds']:.0f} s on two of Spark; the tables {same}."
    )


def _say_time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < LONG else f"{seconds / 60:.0f} min"


def _join(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "docs/explanation/default-strategy.md": render_default,
    "docs/explanation/proofs-4-exact-noise.md": render_noise,
    "docs/explanation/comparison.md": render_authors,
    "docs/how-to/large-tables.md": render_large,
    "docs/how-to/scale.md": render_clusters,
    "lab/results/beyond.md": render_log,
}


def render_page(name: str) -> str:
    """Return a page with what its records say."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if name == "README.md":
        return render_readme(text)
    before, rest = text.split(f"{BEGIN}\n")
    _, after = rest.split(f"{END}\n")
    made = "\n".join(_fold(line) for line in PAGES[name]())
    block = f"\n{made}\n\n" if made else ""
    return f"{before}{BEGIN}\n{block}{END}\n{after}"


def _fold(line: str) -> str:
    """Return a line of prose in lines of at most `WIDTH`; a link or code stays whole."""
    if line.startswith("|"):
        return line
    words = re.findall(r"(?:\[[^\]]*\]\([^)]*\)|`[^`]*`|\S)+", line)
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


def list_pages() -> list[str]:
    """Return the names of all pages."""
    return ["README.md", *PAGES]


def main() -> None:
    """Write all pages."""
    for name in list_pages():
        (ROOT / name).write_text(render_page(name), encoding="utf-8")
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
