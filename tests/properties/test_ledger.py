"""A ledger file with anything in it: a value or a TabpeError, and never less than was spent."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger_events import BUDGET, RESERVED, forge
from tabpe.accounting import Spend
from tabpe.accounting.ledger import Ledger
from tabpe.errors import BudgetError, TabpeError

SPENDS = [Spend("votes", 17.0, 15)]
SPENT = {"entry": "e", "spends": RESERVED["spends"], "certificate_sha256": "a" * 64}
KINDS = {
    "budget": BUDGET,
    "reserved": RESERVED,
    "spent": SPENT,
    "refunded": {"entry": "e"},
}

numbers = st.one_of(
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.sampled_from([0, 1, 2, 17.0, 1e-3, 2e5, 1e-300, 1e300, 1e5, 1e-6, 0.999]),
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=5), st.sampled_from(["e", "u"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """The bytes of a ledger, and what it says was spent."""
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.db")
    ledger.set_budget("patients", epsilon=3, delta=1e-6)
    first, second, _ = (ledger.reserve("patients", SPENDS) for _ in range(3))
    ledger.spend(first.id, SPENDS, "a" * 64)
    ledger.refund(second.id)
    return ledger.path, ledger.spent("patients")


@pytest.fixture(scope="module")
def folder():
    path = Path(tempfile.mkdtemp())
    yield path
    shutil.rmtree(path)


def use(ledger):
    """Try everything, and return what is spent, if it lets that be seen."""
    verified = ledger.verify() == []
    spent = None
    for attempt in (
        ledger.statuses,
        ledger.head,
        lambda: json.dumps([status.to_dict() for status in ledger.statuses()], allow_nan=False),
        lambda: json.dumps(ledger.export(), allow_nan=False),
        lambda: ledger.reserve("patients", SPENDS),
    ):
        try:
            attempt()
        except BudgetError:
            assert verified
        except TabpeError:
            assert not verified or ledger.budget("patients") is not None
    try:
        spent = ledger.spent("patients")
    except TabpeError:
        assert not verified
    return spent


@given(content=st.binary(max_size=2000), prefix=st.booleans())
@settings(derandomize=True, deadline=None, max_examples=60)
def test_random_bytes(folder, content, prefix):
    ledger = Ledger(folder / "random.db")
    ledger.path.write_bytes(b"SQLite format 3\0" * prefix + content)
    use(ledger)


@given(changes=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=4))
@settings(derandomize=True, deadline=None, max_examples=120)
def test_changed_bytes_never_lower_what_was_spent(folder, good, changes):
    """Half of the file is unused, so changes are made where its tables are."""
    path, spent = good
    content = bytearray(path.read_bytes())
    used = [place for place, byte in enumerate(content) if byte]
    for where, mask in changes:
        content[used[int(where * (len(used) - 1))]] ^= mask
    ledger = Ledger(folder / "changed.db")
    ledger.path.write_bytes(content)
    found = use(ledger)
    assert found is None or found >= spent


@given(cut=st.floats(0, 1, exclude_min=True, exclude_max=True))
@settings(derandomize=True, deadline=None, max_examples=30)
def test_a_file_that_was_cut_short_never_lowers_what_was_spent(folder, good, cut):
    path, spent = good
    content = path.read_bytes()
    ledger = Ledger(folder / "cut.db")
    ledger.path.write_bytes(content[: max(1, int(cut * len(content)))])
    found = use(ledger)
    assert found is None or found >= spent


@st.composite
def payloads(draw):
    """An event of a known kind with some of its parts replaced by anything."""
    kind = draw(st.sampled_from([*KINDS, "else"]))
    content = json.loads(json.dumps(KINDS.get(kind, {})))
    places = [content, *content.get("spends", [])]
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.sampled_from(places))
        place[draw(st.sampled_from([*place, "more"]))] = draw(anything)
    return kind, content


@given(events=st.lists(payloads(), max_size=4))
@settings(derandomize=True, deadline=None, max_examples=80)
def test_hostile_events_with_good_hashes(folder, good, events):
    path = folder / "hostile.db"
    shutil.copy(good[0], path)
    for kind, content in events:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        forge(path, kind, text.encode("utf-8", "replace").decode())
    use(Ledger(path))
