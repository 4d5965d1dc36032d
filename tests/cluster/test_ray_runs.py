"""`TabPE` on Ray: the same table comes out, whoever is lost, and nothing else does."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from facade import ESTIMATED, FAST, QUICK_BEST, SCHEMA, USERS, buying_fit, fake_fit, of_people
from hanging import DeadlyQuery
from planted import table
from scene import Scene
from searching import files_of, leaks
from tabpe import TabPE
from tabpe.accounting import FakeNoise
from tabpe.accounting.ledger import Ledger
from tabpe.backends.queries import VoteQuery
from tabpe.backends.ray import RayShardPool
from tabpe.errors import DataError, NotPrivateWarning, ParameterError, TabpeError

RAY = {"engine": "ray", "n_jobs": 2}


def everything(model):
    certificate = model.certificate.to_dict() | {"created": None, "ledger": None}
    return model.sample().to_pydict(), model.history_, certificate


def estimated(data, **given):
    with pytest.warns(NotPrivateWarning):
        return buying_fit(data, noise=FakeNoise(1), **given)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    rows = of_people(900)
    for number, start in enumerate(range(0, 900, 300)):
        part = rows.slice(start, 300)
        pq.write_table(part, tmp_path / "in" / f"{number}.parquet", row_group_size=70)
    return tmp_path / "in"


def test_a_run_on_ray_gives_what_one_process_gives(ray, folder):
    given = {"preset": QUICK_BEST}
    assert everything(fake_fit(folder, **given, **RAY)) == everything(fake_fit(folder, **given))


def test_a_schema_estimated_for_users_on_ray_is_the_same(ray, folder):
    given = ESTIMATED | USERS
    assert everything(estimated(folder, **given, **RAY)) == everything(estimated(folder, **given))


def test_a_dataset_of_ray_is_counted_where_it_lives_without_being_told_so(ray, monkeypatch):
    import ray.data

    rows, asked, ask = of_people(600), [], RayShardPool.answer
    monkeypatch.setattr(RayShardPool, "answer", lambda *given: asked.append(1) or ask(*given))
    found = fake_fit(ray.data.from_arrow([rows.slice(0, 200), rows.slice(200)]), n_jobs=2)
    assert everything(found) == everything(fake_fit(rows))
    assert asked


def test_a_worker_killed_in_mid_round_changes_nothing_and_is_charged_once(
    ray, folder, tmp_path, monkeypatch
):
    """It dies in the middle of its answer, which is asked for again, of its place alone."""
    ledger, ask = tmp_path / "ledger.db", RayShardPool.answer
    (tmp_path / "killed").mkdir()

    def deadly(pool, query):
        if isinstance(query, VoteQuery):
            query = DeadlyQuery(query, tmp_path / "killed", shard=1, times=1)
        return ask(pool, query)

    given = {"ledger": ledger, "dataset": "patients", "delta": 1e-6}
    Ledger(ledger).set_budget("patients", epsilon=1000, delta=1e-5)
    quiet = everything(fake_fit(folder, **given))
    monkeypatch.setattr(RayShardPool, "answer", deadly)
    run_dir = tmp_path / "run"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    disturbed = fake_fit(folder, **given, **RAY, run_dir=run_dir)
    assert everything(disturbed) == quiet
    assert len(list((tmp_path / "killed").iterdir())) == 1
    first, second = Ledger(ledger).entries("patients")
    assert first.spends == second.spends
    assert {first.state, second.state} == {"spent"}
    monkeypatch.setattr(RayShardPool, "answer", ask)
    again = fake_fit(folder, **given, run_dir=run_dir)
    assert everything(again) == quiet
    assert len(Ledger(ledger).entries("patients")) == 2


@pytest.fixture
def scene(ray, tmp_path, monkeypatch, capfd):
    return Scene(tmp_path, monkeypatch, capfd, "paper")


def leaks_of_ray(scene, ray):
    """What Ray wrote down of the private table. It has so many numbers that some are a count."""
    logs = files_of(ray.session_folder / "logs")
    found = leaks(logs, scene._pieces, scene.witness)
    return [leak for leak in found if not leak.startswith("the exact count")]


def test_a_command_on_ray_leaks_nothing(scene, ray):
    words = ("--engine", "ray", "--jobs", 2, "--ledger", "ledger.db", "--dataset", "patients")
    assert scene.synth(*words, data="table.parquet") == 0, scene.evidence()["stderr"]
    assert any(len(answer) > 100 for answer in scene.witness.exact)
    assert scene.leaks() == []
    assert leaks_of_ray(scene, ray) == []


def test_a_cell_outside_the_schema_is_not_shown_by_workers(scene, ray):
    private = table()
    spoilt = ["x31 years"] + [str(cell) for cell in private["age"].to_pylist()[1:]]
    scene.store(private.set_column(private.schema.names.index("age"), "age", pa.array(spoilt)))
    error = scene.fit(scene.private / "table.parquet", verbose=1, strict=True, **RAY)
    assert isinstance(error, DataError)
    assert "table.parquet: column 'age'" in str(error)
    assert "x31 years" not in "".join(scene.said)
    assert scene.leaks() == []
    assert leaks_of_ray(scene, ray) == []
    assert not [
        name
        for name, content in files_of(ray.session_folder / "logs").items()
        if b"x31 years" in content
    ]


OWN = """
import ray, warnings
from facade import FAST, SCHEMA, columns
from tabpe import TabPE
import pyarrow as pa
TabPE(**(FAST | {"engine": "ray", "n_jobs": 1, "verbose": 1})).fit(pa.table(columns(400)), SCHEMA)
print(ray.is_initialized())
"""


def test_a_cluster_of_its_own_is_quiet_and_ends_with_the_run(ray, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    done = subprocess.run(
        [sys.executable, "-c", OWN], capture_output=True, text=True, check=False, timeout=600
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_an_address_without_a_cluster_is_refused_at_once(ray, address, monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(TabpeError, match=f"address='{address}': there is no Ray cluster to join"):
        TabPE(**(FAST | {"engine": "ray", "address": address})).fit(of_people(50), SCHEMA)


def test_a_process_that_is_connected_is_not_connected_elsewhere(ray):
    with pytest.raises(ParameterError, match="connected to a Ray cluster already"):
        TabPE(**(FAST | {"engine": "ray", "address": "auto"})).fit(of_people(50), SCHEMA)


@pytest.mark.parametrize("engine", ["auto", "local", "stream"])
def test_an_address_is_for_clusters(engine):
    with pytest.raises(ParameterError, match=r"address='auto': engine="):
        TabPE(**(FAST | {"engine": engine, "address": "auto"})).fit(of_people(50), SCHEMA)


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ParameterError, match=r"pip install 'tabpe\[ray\]'"):
        TabPE(**(FAST | {"engine": "ray"})).fit(of_people(50), SCHEMA)
