"""What runs of every kind give is what they gave before: rows, history and certificate.

A change of the code that is meant to change none of it changes no golden record. Where a release is
meant to change, remake the records and say why:

    TABPE_REMAKE_GOLDENS=1 python -m pytest tests/goldens

Generators of random numbers and sums of floats may change with the version of a package and with
the processor. Where these are not those of the records, only certificates of TabPE are compared,
but for the digest of the noisy measurements, which holds the last bit of every sum.
"""

import contextlib
import hashlib
import json
import os
from importlib import metadata
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_features__

from golden_runs import RUNS

RECORDS = Path(__file__).parent / "records"
MACHINE = RECORDS / "machine.json"
PACKAGES = ("numpy", "scipy", "pyarrow", "scikit-learn", "torch", "jax", "mbi")
DIGITS = 9  # in records, of floats
# XLA compiles for the very processor, and does not tell for which: sums of floats differ.
UNSTEADY = {"baseline rap++": ("rows", "first rows")}


def describe_machine():
    """Return what rows may depend on beside the code."""
    versions = {}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    features = sorted(name for name, is_there in __cpu_features__.items() if is_there)
    return {"packages": versions, "processor": digest(features)}


def round_floats(value):
    """Return a plain value with its floats rounded to significant digits."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: round_floats(one) for name, one in value.items()}
    return [round_floats(one) for one in value] if isinstance(value, list) else value


def digest(value):
    """Return a short digest of a plain value."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_record(told):
    """Return what is kept of a run: digests of what is long, and all that helps to see why."""
    rounded = round_floats(json.loads(json.dumps(told, default=str)))
    record = {name: digest(value) for name, value in rounded.items()}
    record["first rows"] = rounded.get("rows", [])[:2]
    record["certificate in full"] = rounded.get("certificate")
    return record


@pytest.mark.parametrize("name", RUNS)
def test_a_run_gives_what_it_gave(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    if name in {"baseline gem", "baseline rap++"}:
        pytest.importorskip("torch" if "gem" in name else "jax")
    found = make_record(RUNS[name](tmp_path))
    path = RECORDS / f"{name.replace(' ', '-')}.json"
    if os.environ.get("TABPE_REMAKE_GOLDENS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n")
        MACHINE.write_text(json.dumps(describe_machine(), indent=1) + "\n")
    expected = json.loads(path.read_text())
    for part in UNSTEADY.get(name, ()):
        assert len(found.pop(part)) == len(expected.pop(part))
    if describe_machine() == json.loads(MACHINE.read_text()):
        assert found == expected
    elif not name.startswith("baseline"):
        one, other = (record["certificate in full"] for record in (found, expected))
        assert len(one.pop("measurements_sha256")) == len(other.pop("measurements_sha256"))
        assert one == other


def test_no_record_is_left_over():
    kept = {path.stem for path in RECORDS.glob("*.json")} - {MACHINE.stem}
    assert kept == {name.replace(" ", "-") for name in RUNS}
