"""A process that uses a ledger, for tests that race such processes or kill them.

`race`: for each line of input, a path, reserve there once and answer `won` or `lost`.
`nursery`: for each line of input, a path, fork a child that reserves, extends, spends and refunds
there for ever, and tells each thing after it returned. Answer with its process id, and with `gone`
once it is.
"""

import itertools
import os
import sys
from pathlib import Path

from tabpe.accounting.ledger import Ledger
from tabpe.accounting.spend import Spend
from tabpe.errors import BudgetError

SPENDS = (Spend("votes", 17.0, 15),)
MORE = (Spend("class counts", 60.0, 1),)


def tell(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def race() -> None:
    tell("ready")
    for line in sys.stdin:
        try:
            Ledger(Path(line.rstrip("\n"))).reserve("patients", SPENDS)
        except BudgetError:
            tell("lost")
        else:
            tell("won")


def nursery() -> None:
    tell("ready")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            work_for_ever(Path(line.rstrip("\n")))
        os.waitpid(child, 0)
        tell("gone")


def work_for_ever(path: Path) -> None:
    tell("started", str(os.getpid()))
    ledger = Ledger(path)
    for count in itertools.count():
        entry = ledger.reserve("patients", SPENDS)
        tell("reserved", entry.id)
        if count % 3 == 1:
            ledger.refund(entry.id)
            tell("refunded", entry.id)
        else:
            ledger.spend(entry.id, SPENDS + MORE, "a" * 64)
            tell("spent", entry.id)


if __name__ == "__main__":
    {"race": race, "nursery": nursery}[sys.argv[1]]()
