"""`TabPEParameters`: every parameter of `TabPE`, its default, flags and help, declared once.

The constructor, the command line and the page of options follow from it. It is apart from `TabPE`
because a command line that is parsed needs no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tabpe._utils import validation
from tabpe.accounting import Adjacency, NoiseSource
from tabpe.evolution import RoundPopulation, Strategy
from tabpe.schema import Schema
from tabpe.synthesizers.options import (
    GUARANTEE,
    LEDGER,
    MACHINE,
    PUBLIC,
    SEARCH,
    Option,
    check_optional_count,
    check_share,
)


@dataclass(kw_only=True, eq=False, repr=False)
class TabPEParameters:
    """The parameters of `TabPE`."""

    epsilon: Annotated[
        float,
        Option(
            "The privacy budget; smaller is more private.",
            GUARANTEE,
            flags=("--epsilon", "-e"),
        ),
    ] = 1.0
    delta: Annotated[
        float | None,
        Option(
            "The probability that the guarantee fails. None for 1 / (n ln n), with n as "
            "declared in `public_rows` or else measured with budget; with `dataset`, for the "
            "delta of its budget.",
            GUARANTEE,
            brief="Probability that the guarantee fails; 1/(n ln n) if left out.",
            flags=("--delta",),
        ),
    ] = None
    label: Annotated[
        str | Sequence[str] | None,
        Option(
            "The column whose values are generated per class, or a list of several, whose "
            "combinations are; None for the one of the schema.",
            PUBLIC,
            brief="The column whose values are classes; repeat it for their combinations.",
            flags=("--label", "-l"),
            terminal=list[str] | None,
        ),
    ] = None
    n_samples: Annotated[
        int | None,
        Option(
            "How many rows to make; None for as many as there are private ones, or, with an "
            "`Evolution`, for a tenth of them.",
            SEARCH,
            brief="Rows to generate, if other than --rows.",
            flags=("--evolve",),
            check=check_optional_count,
        ),
    ] = None
    class_floor: Annotated[
        int | None,
        Option(
            "The fewest rows to make of every class that has any; None for as many as its "
            "share says.",
            SEARCH,
            brief="Rows to generate of every class, at least.",
            flags=("--class-floor",),
            check=check_optional_count,
        ),
    ] = None
    preset: Annotated[
        str | Strategy,
        Option(
            "`best`, `paper`, `reference`, or settings of your own: a `Posterior` or an "
            "`Evolution`, or the `module:object` of one. Fields may follow a name, as in "
            "`paper,rounds=20`.",
            SEARCH,
            brief="'best', 'paper', 'reference' or MODULE:NAME; fields may follow: "
            "'paper,rounds=20'.",
            flags=("--preset",),
            terminal=str,
        ),
    ] = "best"
    adjacency: Annotated[
        str | Adjacency,
        Option(
            "`add-remove` or `replace-one`.",
            GUARANTEE,
            brief="'add-remove' or 'replace-one'.",
            flags=("--adjacency",),
            terminal=str,
        ),
    ] = Adjacency.ADD_REMOVE
    schema: Annotated[
        str | Schema | Mapping[str, Any],
        Option(
            "`declared` if `fit` is given a whole schema; `private` to estimate with budget "
            "what it lacks of types, bounds and values, or all of that. Or the schema itself, "
            "for a pipeline of scikit-learn, which gives `fit` nothing but the table.",
            PUBLIC,
        ),
    ] = "declared"
    schema_budget: Annotated[
        float,
        Option(
            "Which part of the budget a privately estimated schema takes.",
            PUBLIC,
            brief="Share of the budget for estimating the schema.",
            flags=("--schema-budget",),
            check=check_share,
        ),
    ] = 0.05
    estimate_columns: Annotated[
        str | Sequence[str],
        Option(
            "With an estimated schema: columns that the schema does not name and that are "
            "estimated all the same, or `all` of them. A column that is named nowhere is left out.",
            PUBLIC,
            brief="A column that the schema does not name, to estimate privately; may be "
            "repeated. Or 'all' of them.",
            flags=("--estimate-columns",),
            terminal=list[str] | None,
        ),
    ] = ()
    drop: Annotated[
        Sequence[str],
        Option(
            "With an estimated schema: columns to leave out, such as names and ids.",
            PUBLIC,
            brief="A column to leave out of a private schema; may be repeated.",
            flags=("--drop",),
            terminal=list[str] | None,
        ),
    ] = ()
    strict: Annotated[
        bool,
        Option(
            "Whether a cell that does not fit the schema ends the run with an error, where "
            "the schema states no rule for it. Whether there is a release is then not covered "
            "by the guarantee. Usually such a cell counts by the rule of its type "
            "(`Column.on_invalid`).",
            PUBLIC,
            brief="Stop at a cell that does not fit, where the schema states no rule for it. "
            "Whether there is a release is then not covered by the guarantee.",
            flags=("--strict",),
            check=validation.check_flag,
        ),
    ] = False
    unit: Annotated[
        str | None,
        Option(
            "The column of user ids, if a user may have several rows: the guarantee is "
            "user-level then. None for a guarantee to rows.",
            GUARANTEE,
            brief="The column of user ids, for user-level privacy.",
            flags=("--unit",),
        ),
    ] = None
    max_rows_per_user: Annotated[
        int | None,
        Option(
            "The most rows of a user that count, chosen at random; None for 10.",
            GUARANTEE,
            brief="Rows of a user that count; 10 if left out.",
            flags=("--max-rows-per-user",),
        ),
    ] = None
    public_shares: Annotated[
        Mapping[Any, float] | None,
        Option(
            "Share of each class, if that is public knowledge; None to measure it with budget.",
            PUBLIC,
            brief="CLASS=SHARE, if publicly known; once for each class.",
            flags=("--class-share",),
            terminal=list[str] | None,
        ),
    ] = None
    public_rows: Annotated[
        int | None,
        Option(
            "Number of private rows, or of users with `unit`, if that is public.",
            PUBLIC,
            brief="Rows, or users with --unit, if publicly known.",
            flags=("--public-rows",),
        ),
    ] = None
    class_budget: Annotated[
        float,
        Option(
            "Which part of the budget counts of classes or rows may take.",
            PUBLIC,
            check=check_share,
        ),
    ] = 0.02
    noise: Annotated[
        str | NoiseSource,
        Option(
            "`exact`, or `opendp` for the sampler of a third party, which is exact too and many "
            "times slower. That needs `tabpe[opendp]`.",
            GUARANTEE,
            brief="'exact', or 'opendp' for a third party's sampler: exact too, and slower.",
            flags=("--noise",),
            terminal=str,
        ),
    ] = "exact"
    engine: Annotated[
        str,
        Option(
            "`local` holds the encoded rows in memory, `stream` goes through them in every "
            "round, `auto` is `local` if they fit, and `ray` and `spark` have the workers of "
            "a cluster hold them. All give the same rows.",
            MACHINE,
            brief="'local' in memory, 'stream' from disk, 'ray', 'spark', or 'auto'.",
            flags=("--engine",),
        ),
    ] = "auto"
    address: Annotated[
        str | None,
        Option(
            "Where the cluster is: `auto`, `HOST:PORT` or `ray://HOST:PORT` for Ray, "
            "`spark://HOST:PORT` or another master for Spark. None for the one that "
            "RAY_ADDRESS names or the session that is active, or else for one of this machine "
            "alone, for this run.",
            MACHINE,
            brief="A cluster: 'auto', HOST:PORT, ray://HOST:PORT or spark://HOST:PORT.",
            flags=("--address",),
        ),
    ] = None
    memory_limit: Annotated[
        int | str | None,
        Option(
            "What `auto` lets the encoded rows take: bytes, or text such as `2GB`, and what "
            "`ray` lets them take on each machine. None for half of the memory of this one.",
            MACHINE,
            brief="Stream above this, like 2GB; half the memory if left out.",
            flags=("--memory-limit",),
            terminal=str | None,
        ),
    ] = None
    spill: Annotated[
        str | Path | Literal[False] | None,
        Option(
            "The folder in which `stream` keeps encoded rows, in a file without a name. None "
            "for the folder of the system for temporary files; False to encode them in every "
            "round.",
            MACHINE,
            brief="Folder to stream from; the temporary one if left out.",
            flags=("--spill-dir",),
            terminal=Path | None,
        ),
    ] = None
    n_jobs: Annotated[
        int | None,
        Option(
            "Threads that count votes, or workers of a cluster; None or -1 for one on each core.",
            MACHINE,
            brief="Threads or workers; all cores if left out.",
            flags=("--jobs", "-j"),
        ),
    ] = None
    run_dir: Annotated[
        str | Path | None,
        Option(
            "A folder that keeps noisy measurements: after a crash the same `fit` goes on "
            "from there, and what was measured is not charged again.",
            LEDGER,
            brief="A folder to resume from after a crash.",
            flags=("--run-dir",),
            terminal=Path | None,
        ),
    ] = None
    dataset: Annotated[
        str | None,
        Option(
            "The name of the table in a ledger, which the run is charged to before a row is "
            "read, and which refuses what exceeds the total of the data set. None for no "
            "ledger.",
            LEDGER,
            brief="The data set in a ledger to charge.",
            flags=("--dataset",),
        ),
    ] = None
    ledger: Annotated[
        str | Path | None,
        Option(
            "The file of the ledger; None for the one in the data folder of the user.",
            LEDGER,
            brief="The ledger; one in your data folder if left out.",
            flags=("--ledger",),
            terminal=Path | None,
        ),
    ] = None
    require_budget: Annotated[
        bool,
        Option(
            "Refuse a data set that has no total in the ledger, instead of warning.",
            LEDGER,
            brief="Refuse a data set without a budget in the ledger.",
            flags=("--require-budget",),
        ),
    ] = False
    on_round: Annotated[
        Callable[[RoundPopulation], None] | str | None,
        Option(
            "Called after each round with a `RoundPopulation`: the rows made so far, which are "
            "public. A function, or the text `module:object`.",
            SEARCH,
            brief="A function MODULE:NAME that sees the rows of each round.",
            flags=("--on-round",),
            terminal=str | None,
        ),
    ] = None
    random_state: Annotated[
        int | None,
        Option(
            "Seed of the evolution. It never seeds the noise.",
            SEARCH,
            brief="Seed of the evolution; the noise takes none.",
            flags=("--seed",),
        ),
    ] = None
    verbose: Annotated[
        int,
        Option(
            "0 for silence, 1 for a progress bar in a terminal.",
            MACHINE,
        ),
    ] = 1
