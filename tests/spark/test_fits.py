"""`TabPE` on Spark: byte by byte what one process makes, and frames of Spark in and out."""

import pytest

from facade import ESTIMATED, QUICK, QUICK_BEST, SCHEMA, USERS, buying_fit, fake_fit, of_people
from tabpe import TabPE
from tabpe.accounting import FakeNoise
from tabpe.accounting.ledger import Ledger
from tabpe.errors import NotPrivateWarning, ParameterError, TabpeError

TABLE = of_people(900)
KINDS = {
    "evolution": {"preset": QUICK},
    "posterior": {"preset": QUICK_BEST},
    "estimated for users": {"preset": QUICK_BEST} | ESTIMATED | USERS,
}


def fit(data, **given):
    if given.get("schema") != "private":
        return fake_fit(data, **given)
    with pytest.warns(NotPrivateWarning):
        return buying_fit(data, noise=FakeNoise(1), **given)


def everything(model, sample):
    certificate = model.certificate.to_dict() | {"created": None}
    return sample.to_pydict(), model.history_, certificate


@pytest.mark.parametrize("kind", KINDS)
def test_it_makes_what_one_process_makes(kind, spark):
    alone = fit(TABLE, **KINDS[kind])
    there = fit(spark.createDataFrame(TABLE).repartition(3), **KINDS[kind])
    made = there.sample().toArrow()
    assert everything(there, made) == everything(alone, alone.sample())


def test_what_is_in_memory_here_is_sent(spark):
    alone, there = fit(TABLE), fit(TABLE, engine="spark", n_jobs=2)
    assert everything(there, there.sample()) == everything(alone, alone.sample())


def test_a_frame_of_spark_may_be_read_in_this_process(spark):
    there = fit(spark.createDataFrame(TABLE), engine="local")
    alone = fit(TABLE)
    assert there.sample().toArrow().to_pydict() == alone.sample().to_pydict()


def test_a_run_on_spark_goes_on_where_it_was_left_and_is_charged_once(spark, tmp_path):
    frame = spark.createDataFrame(TABLE).repartition(2)
    book = Ledger(tmp_path / "ledger.db")
    book.set_budget("people", epsilon=100.0, delta=1e-5)
    given = {"ledger": tmp_path / "ledger.db", "dataset": "people", "run_dir": tmp_path / "run"}
    once = fit(frame, **given).sample().toArrow()
    # The same rows in other partitions are the same table.
    again = fit(spark.createDataFrame(TABLE).repartition(3), **given).sample().toArrow()
    assert once.equals(again)
    assert len(book.entries("people")) == 1


def test_a_frame_of_spark_comes_out_of_a_saved_model_too(spark, tmp_path, monkeypatch):
    model = fit(spark.createDataFrame(TABLE))
    model.save(tmp_path / "model")
    loaded = TabPE.load(tmp_path / "model")
    assert loaded.sample().toArrow().equals(model.sample().toArrow())
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    with pytest.raises(TabpeError, match="no active session"):
        loaded.sample()


def test_a_frame_of_spark_is_not_counted_by_ray(spark):
    with pytest.raises(ParameterError, match="lives on Spark"):
        TabPE(engine="ray").fit(spark.createDataFrame(TABLE), SCHEMA)
