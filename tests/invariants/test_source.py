"""Rules that the source keeps, read off its syntax trees.

Contracts in pyproject.toml hold others, and `tests/architecture` runs them: which packages import
which, who imports OpenDP, that the baselines know no backend and that nothing imports pickle.

A rule is a function of the source that returns what it finds. `test_each_rule_bites` breaks the
source in one place and expects that the rule finds something else. Names of functions and classes
are taken from the things themselves, and files must be there, so that no rule is about a name that
is gone.
"""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import tabpe
from source_tree import Source, dotted
from tabpe import backends
from tabpe.accounting import Account, ExactNoise, FakeNoise, NoiseSource
from tabpe.accounting.noise import SelectionSource
from tabpe.audit import systems
from tabpe.backends import Backend, EncodedReading, PrivacyUnit, Query
from tabpe.backends.local import EncodedRows, read_user_rows
from tabpe.evaluation.private_metrics import appraise
from tabpe.evaluation.report.evaluate_public import evaluate_public
from tabpe.io import TableSource
from tabpe.measurement import PrivateSession

SOURCE = Source.read(Path(tabpe.__file__).parent)
LAB = Source.read(Path(__file__).parents[2] / "lab/src/tabpe_lab")

NOISE, EXACT_NOISE = "accounting/noise.py", "accounting/exact_noise.py"
ENCLOSURES = "accounting/enclosures.py"
CHECKPOINT, SESSION = "measurement/checkpoint.py", "measurement/session.py"
SPEND = "accounting/spend.py"
MEASURING = {
    f"measurement/{name}.py" for name in ("histograms", "raw_columns", "selection", "privtree")
}
PIPELINE, INFERENCE = "synthesizers/pipeline.py", "schema_inference/infer.py"
BASELINE = "baselines/base.py"
PRIVATE_METRICS = "evaluation/private_metrics/measure.py"
PUBLIC_REPORT = "evaluation/report/evaluate_public.py"
# Search for near candidates, which are public.
SEARCHING = {"evolution/posterior.py", "evolution/evidence.py", "synthesizers/conditional.py"}
# Makes backends for rows of its own, and broken ones, which ask others.
AUDIT = {f"audit/{name}.py" for name in ("attacks", "storage_forms", "systems")}
XOR = "datasets/simulated.py"

# What holds private rows, or exact counts of them. What a user is (a column and a limit), what is
# asked and how rows are encoded is public.
PUBLIC = {kind.__name__ for kind in (PrivacyUnit, Query, EncodedReading)}
HOLDERS = {EncodedRows.__name__} | {
    name for name in backends.__all__ if inspect.isclass(getattr(backends, name))
} - PUBLIC


def outside(files, *folders):
    return {file for file in files if not file.startswith(folders)}


def members(kind, *names):
    """The names of members, which must be there."""
    assert all(name in kind.__annotations__ or hasattr(kind, name) for name in names)
    return set(names)


# Private rows


def importing_backends(source):
    return outside(source.importing("tabpe.backends"), "backends/")


def test_only_measurement_uses_backends_and_a_few_open_them():
    """Schema inference makes queries, which are public, and has a session ask them."""
    opening = {PIPELINE, INFERENCE, BASELINE, PRIVATE_METRICS}
    assert importing_backends(SOURCE) == MEASURING | {SESSION} | opening | SEARCHING | AUDIT


def imported_from_backends(source):
    """What is imported beside exports, queries, and the search for candidates."""
    found = set().union(*map(source.imports, importing_backends(source) - MEASURING - {SESSION}))
    names = {name.removeprefix("tabpe.backends.") for name in found if "tabpe.backends." in name}
    public = ("nearest", "queries")
    return {name for name in names if not name.startswith(public)} - set(backends.__all__)


def test_only_exports_of_backends_are_used_elsewhere():
    """So `HOLDERS` knows the types of all that holds private rows outside of them."""
    assert imported_from_backends(SOURCE) == set()


def attributes_of_holders(source):
    """The attributes that are read of what holds private rows, by file."""
    files = outside(source.trees, "backends/", "measurement/")
    found = {file: source.uses(file, HOLDERS)[0] for file in files - AUDIT}
    return {file: names for file, names in found.items() if names}


def test_who_opens_a_backend_asks_nothing_of_it():
    """The pipeline has the fingerprint of a table made, which leaves under a key."""
    assert attributes_of_holders(SOURCE) == {PIPELINE: members(Backend, "answer") | {"value"}}


def asking_backends(source):
    """The files in which a backend is asked, or taken out of a session."""
    names = members(Backend, "answer") | members(PrivateSession, "backend")
    return outside(
        {
            file
            for file in source.trees
            for node in source.nodes(file)
            if isinstance(node, ast.Attribute) and node.attr in names
        },
        "backends/",
    )


def test_only_mechanisms_ask_a_backend():
    broken = "audit/systems.py"  # A system that is broken on purpose.
    assert asking_backends(SOURCE) - {"audit/attacks.py"} == {
        *MEASURING,
        SESSION,
        PIPELINE,
        broken,
    }


def strange_uses_of_holders(source):
    """What is done with them besides: to print, iterate or store them, or to call `len`."""
    files = outside(source.trees, "backends/", "measurement/")
    return {(file, use) for file in files - AUDIT for use in source.uses(file, HOLDERS)[2]}


def test_private_rows_go_only_to_what_declares_that_it_takes_them():
    assert strange_uses_of_holders(SOURCE) == set()


def callbacks_with_holders(source):
    """Files in which what holds private rows is passed to a parameter that is called."""
    return {file for file in outside(source.trees, "backends/") if source.uses(file, HOLDERS)[1]}


def test_nothing_that_holds_private_rows_is_given_to_a_callback():
    assert callbacks_with_holders(SOURCE) - AUDIT == set()


def reading_batches(source):
    (name,) = members(TableSource, "batches")
    return {
        file
        for file in outside(source.trees, "io/", "backends/", "audit/")
        for call in source.calls(file)
        if isinstance(call.func, ast.Attribute) and call.func.attr == name
    }


def test_who_reads_the_batches_of_a_table():
    """Private rows are read by backends; a synthetic table and a draft are read as they are."""
    assert reading_batches(SOURCE) == {
        "measurement/reservation.py",  # notes that rows were read
        "verification/verify.py",  # synthetic rows
        "cli/table_fit.py",  # checks a schema against the table, for the custodian
        "studio/custodian.py",  # shows the first rows to the custodian
        "evaluation/planning/plan.py",  # a public stand-in
        "synthesizers/sdv.py",  # checks metadata against the table, for the custodian
    }


def encoding_private_rows(source):
    """The files that make a stream of encoded rows, or read whose they are."""
    words = (EncodedRows.__name__, read_user_rows.__name__)
    return outside(source.naming(*words), "backends/")


def test_only_backends_encode_private_rows():
    assert encoding_private_rows(SOURCE) == set()


def uses_of_the_real_table(source):
    """Uses of the real table in a public report, but to ask whether it is there."""
    tree = source.trees[PUBLIC_REPORT]
    compared = {
        node.left
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot)
    }
    given = {
        argument: dotted(call.func)
        for call in source.calls(PUBLIC_REPORT)
        for argument in call.args[:1]
    }
    return [
        given.get(node, "elsewhere")
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == "real" and node not in compared
    ]


def test_the_real_table_goes_to_private_metrics_and_nowhere_else():
    """A public report opens other tables, and must not open this one."""
    assert "real" in inspect.signature(evaluate_public).parameters
    assert uses_of_the_real_table(SOURCE) == [appraise.__name__]


# Noise and the account


def taking_random_bytes(source):
    return source.naming("urandom", "getrandom")


def importing_secrets(source):
    return source.importing("secrets")


def test_only_exact_noise_takes_random_bytes():
    assert taking_random_bytes(SOURCE) == {EXACT_NOISE}
    # The seed and the name of a run; the key of fingerprints and names of files that no one sees;
    # the token of a cluster; tokens of the studio, and names of its files.
    studio = {"studio/access.py", "studio/project.py"}
    assert importing_secrets(SOURCE) == {CHECKPOINT, "_utils/files.py", "backends/ray.py", *studio}


def floats_in_bounds_of_noise(source):
    return {
        ast.unparse(node)
        for node in source.nodes(ENCLOSURES)
        if (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
        or (isinstance(node, ast.Constant) and isinstance(node.value, float))
        or (isinstance(node, ast.Call) and dotted(node.func) in {"float", "round"})
        or (isinstance(node, ast.Import) and "math" in {alias.name for alias in node.names})
    }


def test_bounds_that_decide_noise_are_computed_without_floating_point():
    """Their one float is sigma, which is a rational number exactly. A contract keeps scipy out."""
    assert floats_in_bounds_of_noise(SOURCE) == set()


def drawing_noise(source):
    names = members(NoiseSource, "draw") | members(SelectionSource, "choose")
    return {
        file
        for file in source.trees
        for node in source.nodes(file)
        if isinstance(node, ast.Attribute) and node.attr in names
    }


def test_noise_is_drawn_and_choices_are_made_by_measurement_alone():
    measuring = {f"measurement/{name}.py" for name in ("histograms", "selection", "privtree")}
    assert drawing_noise(SOURCE) == {*measuring, SESSION, "audit/systems.py"}


def making_generators(source):
    """Calls in the modules of noise that take randomness, but for those of the fake source."""
    found = set()
    for file in (NOISE, EXACT_NOISE, ENCLOSURES):
        for node in source.trees[file].body:
            if getattr(node, "name", "") != FakeNoise.__name__:
                found |= {
                    dotted(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)
                }
    return {name for name in found if "random" in name or "seed" in name or "rng" in name}


def test_noise_makes_no_generator_but_for_the_fake_source():
    assert making_generators(SOURCE) == {"os.urandom"}


def charging(source):
    (name,) = members(Account, "charge")
    return {
        file
        for file in source.trees
        for call in source.calls(file)
        if isinstance(call.func, ast.Attribute) and call.func.attr == name
    }


def charging_spends(source):
    return source.naming(*members(Account, "charge_spend"))


def adding_noise(source):
    return source.naming(*members(PrivateSession, "add_noise"))


def test_an_account_is_charged_where_something_is_measured_or_remembered():
    assert charging(SOURCE) == {SPEND}
    assert charging_spends(SOURCE) == {*MEASURING, SESSION, CHECKPOINT}
    assert adding_noise(SOURCE) < MEASURING | {SESSION}


def classes():
    modules = [
        importlib.import_module("tabpe." + file[:-3].replace("/", ".").removesuffix(".__init__"))
        for file in SOURCE.trees
        if file not in ("__init__.py", "__main__.py")
    ]
    found = {
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__.startswith("tabpe")
    }
    return sorted(found, key=lambda kind: kind.__qualname__)


def test_no_source_of_noise_but_the_fake_one_takes_a_seed():
    sources = [
        kind
        for kind in classes()
        if hasattr(kind, "draw") and kind not in (NoiseSource, SelectionSource)
    ]
    assert FakeNoise in sources
    assert ExactNoise in sources
    assert len(sources) >= 3
    for kind in sources:
        if kind is FakeNoise:
            assert kind.private is False
            continue
        taken = {*inspect.signature(kind).parameters, *inspect.signature(kind.draw).parameters}
        assert not any("seed" in word or "rng" in word or "state" in word for word in taken)


# The audit


def importing_broken_systems(source):
    return source.importing("tabpe.audit.systems")


def importing_the_audit(source):
    return outside(source.importing("tabpe.audit"), "audit/")


def test_what_is_broken_on_purpose_is_known_to_the_audit_alone():
    assert outside(importing_broken_systems(SOURCE), "audit/") == set()
    assert importing_the_audit(SOURCE) == {"cli/audit.py"}
    broken = (systems.DoubleBackend, systems.NarrowNoise, systems.ReusedNoise)
    assert not any(hasattr(tabpe, kind.__name__) for kind in broken)
    assert not systems.NarrowNoise.private
    assert not systems.ReusedNoise.private


# What no file does, of the package and of the laboratory


def evaluating_code(source):
    words = {"eval", "exec", "compile", "__import__", "os.system"}
    return {f for f in source.trees if words & {dotted(call.func) for call in source.calls(f)}}


def loading_pickled_arrays(source):
    """Files that call `np.load` without `allow_pickle=False`."""
    return {
        file
        for file in source.trees
        for call in source.calls(file)
        if dotted(call.func) in ("np.load", "numpy.load")
        and not any(
            word.arg == "allow_pickle" and getattr(word.value, "value", None) is False
            for word in call.keywords
        )
    }


def loading_yaml(source):
    """How YAML is loaded: calls, and the loaders that they are given."""
    loading = {"load", "load_all", "full_load", "full_load_all", "unsafe_load", "unsafe_load_all"}
    return {
        (file, dotted(call.func), *(ast.unparse(word.value) for word in call.keywords))
        for file in source.importing("yaml")
        for call in source.calls(file)
        if dotted(call.func).removeprefix("yaml.") in loading
    }


def bases_of_yaml_loaders(source):
    return {
        dotted(base)
        for file in source.importing("yaml")
        for node in ast.walk(source.trees[file])
        if isinstance(node, ast.ClassDef) and "Loader" in node.name
        for base in node.bases
    }


def using_global_randomness(source):
    """Files that use numpy's legacy functions or the standard library, whose seed all share."""
    allowed = {"default_rng", "Generator", "SeedSequence"}
    return source.importing("random") | {
        file
        for file in source.trees
        for node in source.nodes(file)
        if isinstance(node, ast.Attribute)
        and dotted(node.value) in ("np.random", "numpy.random")
        and node.attr not in allowed
    }


# What these log is public: names and noise of spends, rounds, and what a ledger was told.
LOGGING = {
    "__init__.py",
    "measurement/checkpoint.py",
    "measurement/reservation.py",
    "studio/worker.py",  # hears rounds
    "synthesizers/tabpe.py",
}


def printing(source):
    calling = {f for f in source.trees for call in source.calls(f) if dotted(call.func) == "print"}
    return outside(calling, "cli/", "cli.py") | source.importing("logging") - LOGGING


@pytest.mark.parametrize("source", [SOURCE, LAB], ids=["tabpe", "tabpe_lab"])
@pytest.mark.parametrize("rule", [evaluating_code, loading_pickled_arrays, printing])
def test_no_file_does_this(source, rule):
    assert rule(source) == set()


def test_yaml_is_loaded_safely():
    assert loading_yaml(SOURCE) == {("_utils/yaml12.py", "yaml.load", "_Loader")}
    assert bases_of_yaml_loaders(SOURCE) == {"yaml.SafeLoader"}
    assert loading_yaml(LAB) == set()


def test_no_global_random_state_is_used():
    assert using_global_randomness(SOURCE) == set()
    # A generator of its own too, and the only one that draws what the paper's authors drew.
    assert using_global_randomness(LAB) == {XOR}


# The rules themselves

PASSED_ON = "def broken(backend: Backend, session: PrivateSession) -> None:\n    "
BREAKS = [
    (importing_backends, "evolution/config.py", "from tabpe.backends import LocalBackend"),
    (importing_backends, "evaluation/report/evaluate.py", "import tabpe.backends.local"),
    (imported_from_backends, PIPELINE, "from tabpe.backends.local import CachedTable"),
    (attributes_of_holders, PIPELINE, PASSED_ON + "n = backend.open_table(None)"),
    (attributes_of_holders, PIPELINE, PASSED_ON + "n = backend.users"),
    (attributes_of_holders, PIPELINE, PASSED_ON + "f = lambda: backend.open_raw_columns()"),
    (attributes_of_holders, BASELINE, "def f(s):\n    LocalBackend(s, None, 1).answer(2)"),
    (attributes_of_holders, PRIVATE_METRICS, "def f(a: Answer):\n    return a.value"),
    (asking_backends, INFERENCE, "def f(s: InferenceSession):\n    s.session.backend"),
    (asking_backends, "baselines/mst.py", "def f(s):\n    s.session.backend.answer(1)"),
    (asking_backends, "evolution/posterior.py", "def f(x):\n    return x.answer(1)"),
    (attributes_of_holders, BASELINE, "def f(s, e):\n    EncodedRows(s, e).source"),
    (attributes_of_holders, PRIVATE_METRICS, "def f(u: BoundedUsers | None):\n    u.owners"),
    (strange_uses_of_holders, BASELINE, "def f(s, e):\n    return [*EncodedRows(s, e)]"),
    (
        strange_uses_of_holders,
        BASELINE,
        "def f(s, e):\n    for x in EncodedRows(s, e):\n        pass",
    ),
    (strange_uses_of_holders, PIPELINE, PASSED_ON + "len(backend)"),
    (strange_uses_of_holders, PIPELINE, PASSED_ON + "str(f'{backend}')"),
    (strange_uses_of_holders, PIPELINE, PASSED_ON + "getattr(backend, 'users')"),
    (callbacks_with_holders, PIPELINE, "def f(g: Callable[..., int], e: Backend):\n    g(e)"),
    (reading_batches, PIPELINE, "def f(source):\n    return [*source.batches()]"),
    (reading_batches, "evolution/posterior.py", "def f(source):\n    next(source.batches([]))"),
    (encoding_private_rows, "baselines/aim.py", "from tabpe import x\nx.EncodedRows(1, 2)"),
    (encoding_private_rows, PIPELINE, "def f(s):\n    return read_user_rows(s, 'id', [])"),
    (uses_of_the_real_table, PUBLIC_REPORT, "def f(real):\n    return read_all_rows(real)"),
    (uses_of_the_real_table, PUBLIC_REPORT, "def f(real):\n    return len(real)"),
    (taking_random_bytes, "evolution/proposals.py", "import os\nos.urandom(8)"),
    (taking_random_bytes, SESSION, "from os import getrandom\ngetrandom(8)"),
    (importing_secrets, "baselines/gem.py", "import secrets"),
    (floats_in_bounds_of_noise, ENCLOSURES, "x = 0.5"),
    (floats_in_bounds_of_noise, ENCLOSURES, "def f(x):\n    return x / 2"),
    (floats_in_bounds_of_noise, ENCLOSURES, "def f(x):\n    return float(x)"),
    (floats_in_bounds_of_noise, ENCLOSURES, "import math"),
    (drawing_noise, "evolution/posterior.py", "def f(noise):\n    return noise.draw(1, 1.0)"),
    (drawing_noise, BASELINE, "def f(noise):\n    return noise.choose([0, 1], 1.0)"),
    (making_generators, NOISE, "import numpy as np\nnp.random.default_rng(0)"),
    (charging, PIPELINE, "def f(account):\n    account.charge('votes')"),
    (charging_spends, BASELINE, "def f(a):\n    a.charge_spend(1, 2)"),
    (adding_noise, PIPELINE, "def f(t):\n    return terms.add_noise(1, 2, t)"),
    (importing_broken_systems, PIPELINE, "from tabpe.audit.systems import NarrowNoise"),
    (importing_the_audit, "evaluation/report/evaluate.py", "import tabpe.audit"),
    (evaluating_code, "schema/schema.py", "eval('1')"),
    (loading_pickled_arrays, "_utils/serialization.py", "np.load('x', allow_pickle=True)"),
    (loading_pickled_arrays, "_utils/serialization.py", "np.load('x')"),
    (loading_yaml, "_utils/yaml12.py", "yaml.unsafe_load('x')"),
    (loading_yaml, "schema/files.py", "from yaml import full_load\nfull_load('x')"),
    (bases_of_yaml_loaders, "_utils/yaml12.py", "class _NewLoader(yaml.Loader): pass"),
    (using_global_randomness, "evolution/proposals.py", "np.random.seed(0)"),
    (using_global_randomness, "evolution/proposals.py", "import random"),
    (printing, PIPELINE, "print(1)"),
    (printing, PIPELINE, "import logging"),
]


@pytest.mark.parametrize(
    ("rule", "file", "code"), BREAKS, ids=[f"{r.__name__}-{i}" for i, (r, *_) in enumerate(BREAKS)]
)
def test_each_rule_bites(rule, file, code):
    assert rule(SOURCE.with_code(file, code)) != rule(SOURCE)


def test_every_rule_is_broken_once():
    rules = {
        value
        for value in globals().values()
        if inspect.isfunction(value) and [*inspect.signature(value).parameters] == ["source"]
    }
    assert {rule for rule, *_ in BREAKS} == rules


def test_the_files_of_the_rules_are_there():
    named = {
        NOISE,
        EXACT_NOISE,
        ENCLOSURES,
        CHECKPOINT,
        SESSION,
        SPEND,
        PIPELINE,
        INFERENCE,
        BASELINE,
    }
    named |= {PRIVATE_METRICS, PUBLIC_REPORT, *MEASURING, *SEARCHING, *AUDIT}
    named |= {file for _, file, _ in BREAKS}
    assert named <= set(SOURCE.trees)
    assert XOR in LAB.trees
