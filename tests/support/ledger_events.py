"""Events as somebody may write them who knows how a ledger is made."""

import hashlib
import sqlite3

from tabpe.accounting.ledger.events import dump_canonical

RESERVED = {
    "entry": "e",
    "dataset": "patients",
    "spends": [{"name": "votes", "sigma": 17.0, "times": 15, "delta_share": 0.0}],
    "adjacency": "add-remove",
    "max_rows_per_user": None,
    "unit": None,
    "note": "",
}
BUDGET = {
    "dataset": "patients",
    "epsilon": 2.0,
    "delta": 1e-6,
    "adjacency": "add-remove",
    "unit": None,
}


def forge(path, kind, payload, time="then"):
    """Add an event with good hashes to the file of a ledger, whatever its payload is."""
    connection = sqlite3.connect(path)
    (last,) = connection.execute("SELECT count(*) FROM events").fetchone()
    (previous,) = connection.execute("SELECT sha256 FROM head").fetchone()
    whole = dump_canonical([last + 1, time, kind, payload, previous])
    digest = hashlib.sha256(whole.encode()).hexdigest()
    row = (last + 1, time, kind, payload, previous, digest)
    connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", row)
    connection.execute("REPLACE INTO head VALUES (1, ?)", (digest,))
    connection.commit()
    connection.close()
