"""A gallery of messy exports: drafted, checked and synthesised with at most three edits each."""

import json

import pytest
import yaml

from messy_exports import DROP, EXPORTS, MessyExport

MOST_EDITS = 3
FAST = ("--delta", "1e-5", "--epsilon", 8, "--rows", 30, "--preset", "paper", "--seed", 0)


@pytest.mark.parametrize("make", EXPORTS, ids=lambda make: make.__name__)
def test_an_export_gets_in_at_the_first_attempt(tabpe, folder, make):
    export: MessyExport = make()
    assert len(export.edits) <= MOST_EDITS
    path = export.write(folder)
    drafted = tabpe("schema", "init", path.name, "-o", "draft.yaml")
    assert drafted.exit_code == 0, drafted.output
    text = (folder / "draft.yaml").read_text()
    for before, after in export.edits:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    (folder / "draft.yaml").write_text(text)
    checked = tabpe("schema", "check", "draft.yaml", path.name)
    assert checked.exit_code == 0, checked.output
    unit = () if export.unit is None else ("--unit", export.unit)
    words = ("--schema", "draft.yaml", "-o", "out.csv", *FAST, *unit, *export.words)
    made = tabpe("synth", path.name, *words)
    assert made.exit_code == 0, made.output
    certificate = json.loads((folder / "out.certificate.json").read_text())
    plain = yaml.safe_load(text)
    kept = [entry for entry in plain["columns"] if DROP not in entry]
    assert [one["name"] for one in certificate["schema"]["columns"]] == [e["name"] for e in kept]
    assert _list_drafted(plain) <= set(certificate["fields_from_data"])
    assert tabpe("verify", "out.certificate.json", "out.csv").exit_code == 0


def _list_drafted(plain):
    """Every field of a draft that is marked as from the data."""
    same = ("name", "type", "source", "estimated")
    drafted = {
        f"{entry['name']}.{field}"
        for entry in plain["columns"]
        if entry.get("source") == "data"
        for field in entry
        if field not in same
    }
    return drafted | {f"format.{field}" for field in plain.get("format", {}) if field != "source"}


@pytest.mark.parametrize("make", EXPORTS, ids=lambda make: make.__name__)
def test_layout_and_formats_are_detected(tabpe, folder, make):
    export: MessyExport = make()
    path = export.write(folder)
    assert tabpe("schema", "init", path.name, "-o", "draft.json").exit_code == 0
    plain = json.loads((folder / "draft.json").read_text())
    entries = {entry["name"]: entry for entry in plain["columns"]}
    assert {name: plain["format"][name] for name in export.layout} == export.layout
    assert {name: entries[name].get("format") for name in export.formats} == export.formats


def test_nearly_all_types_of_the_gallery_are_right(tabpe, folder):
    right, wrong = 0, []
    for make in EXPORTS:
        export = make()
        path = export.write(folder)
        assert tabpe("schema", "init", path.name, "-o", "draft.json", "-f").exit_code == 0
        plain = json.loads((folder / "draft.json").read_text())
        found = {e["name"]: DROP if DROP in e else e["type"] for e in plain["columns"]}
        assert list(found) == list(export.kinds) or set(found) == set(export.kinds)
        for name, kind in export.kinds.items():
            allowed = (kind,) if isinstance(kind, str) else kind
            if found[name] in allowed:
                right += 1
            else:
                wrong.append((make.__name__, name, found[name], kind))
    assert right / (right + len(wrong)) >= 0.95, wrong
    assert not wrong, wrong


def test_nothing_that_identifies_is_kept_and_no_cell_is_printed(tabpe, folder):
    export = EXPORTS[0]()
    path = export.write(folder)
    said = tabpe("schema", "init", path.name, "-o", "draft.yaml").output
    said += tabpe("schema", "check", "draft.yaml", path.name).output
    for cell in ("Müller", "P00", "Chirurgie", "01067", "berichtet", "unbekannt"):
        assert cell not in said
