"""An executor of a standalone cluster is killed in the middle of a round: nothing else changes."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from facade import fake_fit, of_people
from standalone import environment, standalone
from tabpe.accounting.ledger import Ledger
from tabpe.errors import ThinVotesWarning

PROGRAM = Path(__file__).with_name("lose_executor.py")


@pytest.fixture
def told(installed, tmp_path):
    """What a program saw of such a run, and what it said on the terminal."""
    pq.write_table(of_people(900), tmp_path / "people.parquet", row_group_size=100)
    Ledger(tmp_path / "ledger.db").set_budget("people", epsilon=60.0, delta=1e-6)
    with standalone(tmp_path) as address:
        ended = subprocess.run(
            [sys.executable, PROGRAM, address, tmp_path],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout), ended.stderr


def test_an_executor_killed_in_the_middle_changes_nothing(told):
    """Its partitions are made anew. Noise is drawn once, and the ledger is charged once."""
    seen, said = told
    with pytest.warns(ThinVotesWarning):
        alone = fake_fit(of_people(900), n_samples=5_000)
    assert seen["killed"]
    assert seen["rows"] == alone.sample().to_pydict()
    assert seen["history"] == json.loads(json.dumps(alone.history_))
    assert seen["charges"] == ["spent"]
    # The session and its Java ended with the run, and said nothing.
    assert seen["left behind"] == [False, False, False]
    assert said == ""
