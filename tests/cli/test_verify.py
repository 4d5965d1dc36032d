"""`tabpe verify`, as a person meets it."""

import json

import pytest


@pytest.fixture
def released(synth, folder):
    """What `tabpe synth` wrote: a table and its certificate."""
    assert synth().exit_code == 0
    return folder / "out.certificate.json", folder / "out.csv"


def rewrite(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--noise", "opendp"],
        ["--adjacency", "replace-one"],
        ["-o", "out.parquet"],
        ["--public-rows", 400],
        ["--epsilon", "0.3"],
        ["--escape-formulas"],
        ["--preset", "paper"],
        ["--preset", "reference"],
    ],
)
def test_what_synth_wrote_holds(synth, tabpe, folder, words):
    assert synth(*words).exit_code == 0
    table = next(path for path in folder.glob("out.*") if path.suffix in {".csv", ".parquet"})
    result = tabpe("verify", "out.certificate.json", table.name)
    assert result.exit_code == 0, result.output
    assert "FAILED" not in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())


def test_it_says_what_is_guaranteed_and_what_is_not(released, tabpe):
    text = tabpe("verify", *released).stdout
    for words in ("Guaranteed:", "Not guaranteed:", "Not checked:", "not signed", "recounted"):
        assert words in text


def test_without_the_table_it_says_that_the_table_was_not_checked(released, tabpe):
    result = tabpe("verify", released[0])
    assert result.exit_code == 0
    assert "The table out.csv" in result.stdout


def test_a_changed_table_fails_with_1(released, tabpe):
    certificate, table = released
    table.write_text(table.read_text() + "\n")
    result = tabpe("verify", certificate, table)
    assert result.exit_code == 1
    assert "FAILED  table" in result.stdout
    assert "Guaranteed:" not in result.stdout
    assert "do not rely" in result.stdout


def test_a_changed_certificate_fails_with_1(released, tabpe):
    rewrite(released[0], epsilon=0.5)
    result = tabpe("verify", released[0])
    assert result.exit_code == 1
    assert "FAILED  epsilon" in result.stdout


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"format": 3}', "tabpe"])
def test_what_is_no_certificate_is_refused_with_2(tabpe, folder, text):
    (folder / "bad.json").write_text(text)
    result = tabpe("verify", "bad.json")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


@pytest.mark.parametrize("change", [{"epsilon": "small"}, {"surprise": 1}, {"spends": None}])
def test_a_certificate_with_fields_that_do_not_fit_fails_with_1(released, tabpe, change):
    rewrite(released[0], **change)
    result = tabpe("verify", *released)
    assert result.exit_code == 1
    assert "FAILED  format" in result.stdout
    assert next(iter(change)) in result.stdout
    assert "Guaranteed:" not in result.stdout
    assert json.loads(tabpe("verify", *released, "--json").stdout)["holds"] is False


def test_missing_files_are_refused_with_2(released, tabpe):
    assert tabpe("verify", "nowhere.json").exit_code == 2
    assert tabpe("verify", released[0], "nowhere.csv").exit_code == 2


def test_json(released, tabpe):
    plain = json.loads(tabpe("verify", *released, "--json").stdout)
    assert plain["holds"] is True
    assert {check["name"] for check in plain["checks"]} >= {"epsilon", "schema", "table", "rows"}
    rewrite(released[0], requested_epsilon=0.5)
    result = tabpe("verify", *released, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["holds"] is False


def test_a_drafted_schema_is_a_condition_and_no_failure(tabpe, folder):
    tabpe("schema", "init", "data.csv", "-o", "draft.yaml", "--label", "readmitted")
    words = ("--schema", "draft.yaml", "--delta", "1e-5", "--rows", 40, "-o", "out.csv")
    assert tabpe("synth", "data.csv", *words).exit_code == 0
    result = tabpe("verify", "out.certificate.json", "out.csv")
    assert result.exit_code == 0
    assert "HOLDS ONLY GIVEN" in result.stdout
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
