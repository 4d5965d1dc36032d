"""Rules that the source keeps, read off its syntax trees."""

import ast
import functools
import importlib
import inspect
from pathlib import Path

import pytest

import tabpe
from tabpe.accounting import FakeNoise, NoiseSource
from tabpe.audit.systems import DoubleVoteEngine, NarrowNoise, ReusedNoise

ROOT = Path(tabpe.__file__).parent
FILES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}
MEASURING = {
    f"measure/{name}.py"
    for name in ("histograms", "domain", "tables", "choice", "trees", "halfspaces")
}
# Where noise is drawn for those.
DRAWING = {"measure/histograms.py", "measure/terms.py"}
each_file = pytest.mark.parametrize("name", FILES)


@functools.cache
def imports(name):
    """Every module that a file imports, wherever in it, as full names."""
    found = set()
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@functools.cache
def importing(module):
    """The files that import `module` or something of it."""
    return {
        name
        for name in FILES
        if any(found == module or found.startswith(f"{module}.") for found in imports(name))
    }


@functools.cache
def calls(name):
    return [node for node in ast.walk(TREES[name]) if isinstance(node, ast.Call)]


def dotted(node):
    """`np.random.seed` for the function of a call; empty if it is not a plain name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def test_the_source_is_found():
    assert {"privacy/noise.py", "measure/histograms.py", "engines/local.py"} <= set(FILES)


def test_only_the_noise_module_samples_with_opendp():
    assert importing("opendp") == {"privacy/noise.py"}


def test_only_the_table_of_noise_takes_random_bytes():
    """The operating system's randomness has one door, and the standard library's none."""
    used = {
        name: {
            node.attr if isinstance(node, ast.Attribute) else node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute | ast.Name)
        }
        for name, tree in TREES.items()
    }
    taking = {name for name, words in used.items() if words & {"urandom", "getrandom"}}
    assert taking == {"privacy/table.py"}
    # The seed and the name of a run; the key of fingerprints; names of files that no one sees; the
    # token of a cluster.
    others = {"run_folder.py", "_home.py", "_atomic.py", "engines/ray_cluster.py"}
    assert importing("secrets") == others


def test_the_table_of_noise_is_made_and_read_without_floating_point():
    """Its one float is sigma, which is a decimal exactly."""
    tree = TREES["privacy/table.py"]
    outside = [node for node in tree.body if getattr(node, "name", "") != "TableNoise"]
    nodes = [node for top in outside for node in ast.walk(top)]
    assert not any(
        isinstance(node, ast.Div)
        or (isinstance(node, ast.Constant) and isinstance(node.value, float))
        or (isinstance(node, ast.Call) and dotted(node.func) in {"float", "round"})
        for node in nodes
    )
    assert not {"math", "scipy"} & imports("privacy/table.py")


def test_only_measure_calls_an_engine_and_only_the_pipeline_makes_one():
    """But for the audit, which makes one for rows of its own; a broken one asks another."""
    outside = {name for name in importing("tabpe.backends") if not name.startswith("engines/")}
    audit = {f"audit/{name}.py" for name in ("system", "channel", "columns", "broken", "storage")}
    buying = {"buying/desk.py", "buying/purchase.py"}
    rooms = {"ground.py", "making.py", "pipeline.py", "appraise/purchase.py"}
    baselines = {f"baselines/{name}.py" for name in ("face", "desk", "bins")}
    assert outside == {*MEASURING, *buying, *rooms, *audit, *baselines}


def test_what_is_broken_on_purpose_is_known_to_the_audit_alone():
    assert importing("tabpe.audit.systems") == {"audit/run.py"}
    assert not any(
        hasattr(tabpe, kind.__name__) for kind in (DoubleVoteEngine, NarrowNoise, ReusedNoise)
    )
    assert not NarrowNoise.private
    assert not ReusedNoise.private


def test_no_room_but_the_command_line_knows_the_audit():
    outside = {name for name in importing("tabpe.audit") if not name.startswith("audit/")}
    assert outside == {"cli/audit.py"}


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("buying/desk.py", set()),
        ("buying/purchase.py", set()),
        ("ground.py", set()),
        ("making.py", set()),
        ("pipeline.py", set()),
    ],
)
def test_who_buys_asks_a_survey_an_engine_and_tables_nothing(name, used):
    """They hand these on to `find_metric`; no attribute of one is read there."""
    counting = ("survey", "engine", "tables")
    assert used == {
        node.attr
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Attribute) and dotted(node.value).endswith(counting)
    }


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("ground.py", {"survey", "tables"}),
        ("making.py", {"encoder", "tables", "prepare"}),
        ("pipeline.py", {"contents", "hold"}),
        ("buying/purchase.py", {"survey"}),
    ],
)
def test_who_passes_a_table_on_asks_it_nothing(name, used):
    """Rows are held and taken in; what counts them goes to `find_metric`, all else stays where it
    is.

    The pipeline has the fingerprint of a table made, which leaves under a key.
    """
    assert used == {
        node.attr
        for node in ast.walk(TREES[name])
        if isinstance(node, ast.Attribute) and dotted(node.value) in {"keeper", "held"}
    }


def test_an_appraisal_hands_its_engine_on_at_once():
    """What counts exactly has no name there, so that nothing but `find_metric` can ask it."""
    made = [call for call in calls("appraise/purchase.py") if dotted(call.func) == "Tables"]
    asked = [call for call in calls("appraise/purchase.py") if made[0] in call.args]
    assert len(made) == 1
    assert [dotted(call.func) for call in asked] == ["measure.marginals"]


def test_the_real_table_goes_to_an_appraisal_and_nowhere_else():
    """A public report opens other tables, and must not open this one."""
    tree = TREES["report/public.py"]
    used = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "real"]
    compared = [
        node.left
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Is | ast.IsNot)
        and dotted(node.left) == "real"
    ]
    (appraised,) = (call for call in calls("report/public.py") if dotted(call.func) == "appraise")
    assert set(used) == {*compared, appraised.args[0]}


def test_noise_is_drawn_in_one_room():
    drawing = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "draw"
    }
    assert drawing == {*DRAWING, "audit/broken.py"}


def test_an_account_is_charged_where_something_is_measured_or_remembered():
    def calling(name):
        return {
            file for file in FILES for call in calls(file) if f".{dotted(call.func)}".endswith(name)
        }

    assert calling(".charge") == {"measure/terms.py"}
    assert calling(".charged") == {*MEASURING, "journal.py"}


@each_file
@pytest.mark.parametrize(
    "module", ["pickle", "cPickle", "shelve", "marshal", "dill", "cloudpickle", "joblib"]
)
def test_nothing_unpickles(name, module):
    assert name not in importing(module)


@each_file
def test_nothing_is_evaluated(name):
    assert not {"eval", "exec", "compile", "__import__", "os.system"} & {
        dotted(call.func) for call in calls(name)
    }


@each_file
def test_arrays_are_loaded_without_pickle(name):
    for call in calls(name):
        if dotted(call.func) in ("np.load", "numpy.load"):
            given = {word.arg: word.value for word in call.keywords}
            assert isinstance(given.get("allow_pickle"), ast.Constant)
            assert given["allow_pickle"].value is False


@each_file
def test_yaml_is_loaded_safely(name):
    for call in calls(name):
        assert dotted(call.func) not in ("yaml.unsafe_load", "yaml.full_load")


@each_file
def test_no_global_random_state_is_used(name):
    """Neither numpy's legacy functions nor the standard library: a seed there is shared by all."""
    assert name not in importing("random")
    allowed = {"default_rng", "Generator", "SeedSequence"}
    if name == "datasets/xor.py":  # a generator of its own too, and the only one that draws what
        allowed |= {"RandomState"}  # the paper's authors drew
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Attribute) and dotted(node.value) in ("np.random", "numpy.random"):
            assert node.attr in allowed


@pytest.mark.parametrize("module", ["privacy/noise.py", "privacy/table.py"])
def test_noise_makes_no_generator_but_for_the_fake_source(module):
    outside = [node for node in TREES[module].body if getattr(node, "name", "") != "FakeNoise"]
    names = {
        dotted(node.func) for top in outside for node in ast.walk(top) if isinstance(node, ast.Call)
    }
    names -= {"os.urandom"}
    assert not any("random" in name or "seed" in name for name in names)


def classes():
    modules = [
        importlib.import_module("tabpe." + name[:-3].replace("/", ".").removesuffix(".__init__"))
        for name in FILES
        if name not in ("__init__.py", "__main__.py")
    ]
    found = {
        member
        for module in modules
        for _, member in inspect.getmembers(module, inspect.isclass)
        if member.__module__.startswith("tabpe")
    }
    return sorted(found, key=lambda kind: kind.__qualname__)


def test_no_source_of_noise_but_the_fake_one_takes_a_seed():
    sources = [kind for kind in classes() if hasattr(kind, "draw") and kind is not NoiseSource]
    assert FakeNoise in sources
    assert len(sources) >= 3
    for kind in sources:
        if kind is FakeNoise:
            assert kind.private is False
            continue
        taken = {*inspect.signature(kind).parameters, *inspect.signature(kind.draw).parameters}
        assert not any("seed" in word or "rng" in word or "state" in word for word in taken)


@each_file
def test_only_the_command_line_prints(name):
    printing = any(dotted(call.func) == "print" for call in calls(name))
    assert not printing or name.startswith("cli/")
    assert name not in importing("logging")
