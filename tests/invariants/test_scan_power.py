"""The search of `test_scan` finds leaks: each of these variants leaks on purpose, and is caught."""

import hashlib
import importlib
import logging
import os
import tempfile
import warnings
from collections import Counter

import numpy as np
import pytest

from planted import DECIMAL, NOTE, RARE, ROWS, SCHEMA, STRICT, VOTES, Witness, table
from searching import leaks
from tabpe._utils.serialization import Archive
from tabpe.backends import StoredTable
from tabpe.backends.local import EncodedRows
from tabpe.errors import DataError
from tabpe.evaluation.private_metrics import measure
from tabpe.evolution import posterior, private_evolution
from tabpe.measurement import PrivateSession
from tabpe.measurement.checkpoint import archive_measurement


def telling(tell):
    """Return votes that tell what they are."""
    votes = StoredTable.count_votes

    def heard(self, *about):
        answer = votes(self, *about)
        tell(np.concatenate(answer))
        return answer

    return heard


def history_with_exact_totals(scene, patch):
    def telling_record(honest):
        return lambda *given: honest(*given) | {"votes": sum(scene.witness.exact[-1])}

    for strategy in (private_evolution, posterior):
        patch.setattr(strategy, "_make_record", telling_record(strategy._make_record))
    scene.fit(table())


def certificate_with_the_number_of_rows(scene, patch):
    patch.setattr("tabpe.synthesizers.certify._notes", lambda *_: (f"made of {ROWS:,} rows",))
    assert scene.synth() == 0


def error_that_quotes_a_cell(scene, patch):
    def encoded(self, batch):
        raise DataError(f"column 'ward': {RARE!r} is not listed.")

    patch.setattr(EncodedRows, "_encode_batch", encoded)
    scene.fit(table(), STRICT)


def error_with_another_behind_it(scene, patch):
    def encoded(self, batch):
        try:
            float(RARE)
        except ValueError:
            raise DataError("column 'ward': not listed.") from None

    patch.setattr(EncodedRows, "_encode_batch", encoded)
    scene.fit(table(), STRICT)


def folder_with_exact_votes(scene, patch):
    def archive(measured):
        honest = archive_measurement(measured)
        exact = np.array(scene.witness.exact[-1], dtype=np.uint16)
        return Archive(honest.text, honest.arrays | {"exact": exact})

    patch.setattr("tabpe.measurement.checkpoint.archive_measurement", archive)
    scene.fit(table(), run_dir="run")


def without_noise(patch):
    def draw(self, size, sigma):
        return np.zeros(size, dtype=np.int64)

    patch.setattr("tabpe.accounting.ExactNoise.draw", draw)


def no_noise_in_the_folder(scene, patch):
    without_noise(patch)
    scene.fit(table(), run_dir="run")


def no_noise_in_the_history(scene, patch):
    without_noise(patch)
    scene.fit(table())


def no_noise_in_a_purchase(scene, patch):
    patch.setattr(PrivateSession, "add_noise", lambda session, exact, spend: exact)
    scene.fit(
        table(),
        None,
        schema="private",
        estimate_columns=["all", "note"],
        label="ill",
        drop=["person"],
        run_dir="run",
    )


def purchase_that_tells_all_values(scene, patch):
    patch.setattr("tabpe.measurement.raw_columns.compute_release_threshold", lambda *_: -1e9)
    scene.fit(
        table(),
        None,
        schema="private",
        estimate_columns=["all", "note"],
        label="ill",
        drop=["person"],
    )


def no_noise_in_an_appraisal(scene, patch):
    patch.setattr(PrivateSession, "add_noise", lambda session, exact, spend: exact)
    scene.appraise(table())


def exact_counts_in_an_appraisal(scene, patch):
    honest = measure._write_notes

    def notes(*given):
        return (*honest(*given), f"cells: {scene.witness.exact[-1]}")

    patch.setattr(measure, "_write_notes", notes)
    scene.appraise(table())


def page_with_the_time_that_rows_took(scene, patch):
    """As many seconds as there are rows."""
    public_page(scene, patch, lambda: {"seconds": str(len(table()))})


def page_with_a_cell(scene, patch):
    public_page(scene, patch, lambda: {"rare": RARE})


def public_page(scene, patch, told):
    # The package exports a function by the name of the module.
    module = importlib.import_module("tabpe.evaluation.report.evaluate_public")
    patch.setattr(module, "versions", told)
    assert scene.synth() == 0
    words = ("evaluate", scene.private / "table.csv", "out.csv", "--public", "--epsilon", 1)
    assert scene.tabpe(*words, "-o", "page.html", "--json", "page.json") == 0


def votes_in_a_log(scene, patch):
    tell = logging.getLogger("tabpe").debug
    patch.setattr(
        StoredTable, "count_votes", telling(lambda votes: tell("votes: %s", votes.tolist()))
    )
    scene.fit(table())


def count_in_a_warning(scene, patch):
    tell = telling(lambda votes: warnings.warn(f"{votes.sum()} votes", UserWarning, stacklevel=2))
    patch.setattr(StoredTable, "count_votes", tell)
    scene.fit(table())


def votes_from_compiled_code(scene, patch):
    tell = telling(lambda votes: os.write(2, " ".join(map(str, votes)).encode()))
    patch.setattr(StoredTable, "count_votes", tell)
    assert scene.synth("--engine", "local") == 0


def file_of_rows_with_a_name(scene, patch):
    def named(**given):
        return tempfile.NamedTemporaryFile(**given, delete=False)

    patch.setattr("tabpe.backends.local.tempfile.TemporaryFile", named)
    assert scene.synth("--engine", "stream") == 0


def fingerprint_without_a_key(scene, patch):
    content = (scene.private / "table.csv").read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    patch.setattr("tabpe.synthesizers.pipeline.compute_fingerprint", lambda *_: digest)
    assert scene.synth("--run-dir", "run") == 0


def cell_in_the_ledger(scene, patch):
    assert scene.synth("--ledger", "ledger.db", "--dataset", NOTE) == 0


def cells_in_parquet(scene, patch):
    sample = table().select(SCHEMA.names)
    patch.setattr("tabpe.synthesizers.base.Release.sample", lambda self, *_, **__: sample)
    assert scene.synth("-o", "out.parquet") == 0


CAUGHT = {
    history_with_exact_totals: f"the exact count {ROWS:,} in words",
    certificate_with_the_number_of_rows: f"the exact count {ROWS:,} in work/out.certificate.json",
    error_that_quotes_a_cell: f"{RARE} in words",
    error_with_another_behind_it: f"{RARE} in words",
    folder_with_exact_votes: "an exact histogram, in figures, in work/run/votes-001.measured",
    no_noise_in_the_folder: "an exact histogram in work/run/votes-001.measured",
    no_noise_in_the_history: f"the exact count {ROWS:,} in words",
    no_noise_in_a_purchase: "an exact histogram, in figures, in work/run/bounds",
    purchase_that_tells_all_values: f"{RARE} in words",
    no_noise_in_an_appraisal: f"the exact count {ROWS:,} in words",
    exact_counts_in_an_appraisal: "an exact histogram, in figures, in words",
    page_with_the_time_that_rows_took: f"the exact count {ROWS:,} in work/page.json",
    page_with_a_cell: f"{RARE} in work/page.html",
    votes_in_a_log: "an exact histogram, in figures, in words",
    count_in_a_warning: f"the exact count {ROWS:,} in words",
    votes_from_compiled_code: "an exact histogram, in figures, in stderr",
    file_of_rows_with_a_name: "an encoded row in temp/",
    fingerprint_without_a_key: "sha256 of table.csv in work/run/fingerprint",
    cell_in_the_ledger: f"{NOTE} in work/ledger.db as text",
    cells_in_parquet: f"{DECIMAL} in work/out.parquet as text",
}


NO_NOISE = (no_noise_in_the_history, no_noise_in_a_purchase, no_noise_in_an_appraisal)

# By default a row has several votes, and its numbers are spread before they are kept.
CAUGHT_BY_DEFAULT = CAUGHT | {
    history_with_exact_totals: f"the exact count {VOTES * ROWS:,} in words",
    no_noise_in_the_history: f"the exact count {VOTES * ROWS:,} in words",
    count_in_a_warning: f"the exact count {VOTES * ROWS:,} in words",
    file_of_rows_with_a_name: "an encoded row, spread (0) in temp/",
}


@pytest.mark.parametrize("scene", ["best", "paper"], indirect=True)
@pytest.mark.parametrize("leak", CAUGHT, ids=lambda leak: leak.__name__)
def test_a_leak_is_caught(scene, monkeypatch, leak):
    with monkeypatch.context() as patch:
        leak(scene, patch)
    # Where noise is in order it may hit a planted count by chance, which would then be forgiven.
    found = scene.leaks(forgiving=leak in NO_NOISE)
    expected = (CAUGHT_BY_DEFAULT if scene.preset == "best" else CAUGHT)[leak]
    assert any(one.startswith(expected) for one in found), found


TOLD = ("4937", "n=4,937.", "[12,4937,5]", '{"rows":4937}', "4937.0", "(4937, 3)", "4937\n")
NOT_TOLD = ("14937", "4937.5", "0.4937", "4,937,000", "a4937", "pytest-4937", "1,004,937", "49370")


@pytest.mark.parametrize(("texts", "tells"), [(TOLD, True), (NOT_TOLD, False)])
def test_a_count_is_found_where_it_stands_alone(texts, tells):
    for text in texts:
        assert bool(leaks({"text": text.encode()}, {}, Witness())) is tells, text
        assert leaks({"bytes": b"\xff" + text.encode() + b"\xff"}, {}, Witness()) == []
        long = b"\xff" + text.encode() + b" " * 24 + b"\xff"
        assert bool(leaks({"bytes": long}, {}, Witness())) is tells, text


def test_a_count_that_noise_hit_is_forgiven_and_one_that_it_always_hits_is_not():
    for hits, found in (3, 0), (4, 1):
        witness = Witness(noisy=Counter({ROWS: hits}))
        assert len(leaks({"text": str(ROWS).encode()}, {}, witness)) == found
