"""The page as text: what it holds, what it refuses, how large it is."""

import base64
import dataclasses
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import contents as made
from certificates import DRAFTED, KINDS, honest
from tabpe.errors import ParameterError
from tabpe.evaluation.metrics.columns import ColumnComparison, ColumnShape
from tabpe.evaluation.metrics.correlation_order import CorrelationGain, CorrelationOrder
from tabpe.evaluation.metrics.utility import UtilityScores
from tabpe.evaluation.private_metrics import NoisyDifference
from tabpe.evaluation.report.contents import CUSTODIAN_ONLY
from tabpe.evaluation.report.html import render_page
from tabpe.verification.verify import FAILED, GIVEN, OK, Check

STAMP = "Contains non-private statistics of the real table. Do not release."
MOST_BYTES = 3_000_000
VOID = {"meta", "link", "input"}


class Tags(HTMLParser):
    """Elements, ids, and whether what is opened is closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.seen, self.ids, self.attributes = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):  # noqa: D102
        self.seen.append(tag)
        self.attributes += [(tag, *one) for one in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):  # noqa: D102
        assert self.open.pop() == tag


@pytest.mark.parametrize("make", [made.custodian, made.public, made.minimal, made.hostile])
def test_every_element_is_closed_and_every_id_is_there_once(make):
    tags = Tags(render_page(make()))
    assert tags.open == []
    assert len(tags.ids) == len(set(tags.ids))


def test_it_is_the_same_each_time():
    assert render_page(made.custodian()) == render_page(made.custodian())


def test_a_custodian_sees_the_stamp_in_the_title_and_on_the_page():
    html = render_page(made.custodian())
    assert html.count(STAMP) >= 2
    assert re.search("<title>Contains non-private statistics. Do not release", html)


def test_a_public_page_has_no_stamp_of_the_custodian():
    body = render_page(made.public()).split("</style>")[1]
    assert "non-private" not in body
    assert "May be released" in body


@pytest.mark.parametrize("name", CUSTODIAN_ONLY)
def test_a_public_page_refuses_parts_of_the_custodian(name):
    part = getattr(made.custodian(), name)
    with pytest.raises(ParameterError, match=f"mode='public'.*{name}"):
        made.public(**{name: part})


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": {"synthetic": 9, "real": 9}},
        {"rows": {"synthetic": 9, "test": 9}},
        {"association": made.custodian().association},
        {"projection": made.custodian().projection},
        {"private_measures": None},
        {"columns": made.custodian().columns},
        {"columns": [dataclasses.replace(one, band=0.1) for one in made.custodian().columns]},
        {"columns": [dataclasses.replace(one, band=0.0) for one in made.public().columns]},
        {"columns": [dataclasses.replace(one, real=None) for one in made.public().columns]},
        {"seconds": made.custodian().seconds},
    ],
    ids=", ".join,
)
def test_a_public_page_refuses_figures_without_noise(changes):
    with pytest.raises(ParameterError, match="mode='public'"):
        made.public(**changes)


def test_a_custodian_page_does_not_become_public_by_its_mode():
    with pytest.raises(ParameterError, match="mode='public'"):
        dataclasses.replace(made.custodian(), mode="public")


@pytest.mark.parametrize("mode", ["Public", "", None])
def test_a_page_of_an_unknown_mode_is_refused(mode):
    """It would have neither the stamp of the custodian nor the checks of a public one."""
    with pytest.raises(ParameterError, match="mode="):
        dataclasses.replace(made.custodian(), mode=mode)


@pytest.mark.parametrize(
    "changes",
    [
        {"certificate": None},
        {"certificate": honest(schema=DRAFTED)},
        {"fields_from_data": ("age.min",)},
        {
            "private_measures": dataclasses.replace(
                made.public().private_measures, certificate=honest(schema=DRAFTED)
            )
        },
        {"verification": None},
        {"verification": made.verified(Check("format", OK, "a certificate"))},
        {"verification": made.verified(Check("table", GIVEN, "it is another one"))},
        {"verification": made.verified(Check("table", FAILED, "it is another one"))},
        {
            "verification": made.verified(
                Check("table", OK, "the one"), Check("epsilon", FAILED, "it is more")
            )
        },
    ],
    ids=[
        "no certificate",
        "a drafted schema",
        "shown by a drafted schema",
        "measured by a drafted schema",
        "not checked",
        "not compared",
        "hardly compared",
        "another table",
        "a wrong certificate",
    ],
)
def test_a_public_page_does_not_claim_what_no_certificate_guarantees(changes):
    body = render_page(made.public(**changes)).split("</style>")[1]
    assert "May be released" not in body
    assert "Whether this may be released is not shown" in body


def test_what_was_put_into_a_public_page_after_it_was_made_is_noticed():
    contents = made.public(rows={"synthetic": 9})
    contents.rows["real"] = 48_842
    body = render_page(contents).split("</style>")[1]
    assert "May be released" not in body
    assert "rows of real" in body


@pytest.mark.parametrize("make", [made.public, made.custodian])
def test_a_certificate_that_does_not_hold_is_loud(make):
    checks = made.verified(Check("epsilon", FAILED, "it is <more>"))
    head = render_page(make(verification=checks)).split("<main>")[0]
    assert '<div class="stamp alarm"' in head
    assert "does not hold" in head
    assert "it is &lt;more&gt;" in head


def test_fields_that_were_read_off_the_data_are_named_wherever_they_come_from():
    measures = dataclasses.replace(
        made.public().private_measures, certificate=honest(schema=DRAFTED)
    )
    for changes in {"private_measures": measures}, {"fields_from_data": ("age.min",)}:
        assert "age.min" in render_page(made.public(**changes)).split("<main>")[0]


def test_fake_noise_is_loud_in_every_mode():
    fake = honest(private=False)
    for contents in (made.custodian(certificate=fake), made.public(certificate=fake)):
        html = render_page(contents)
        assert '<div class="stamp alarm"' in html
        assert "<title>NOT PRIVATE" in html
        assert "May be released: holds" not in html


def test_fake_private_measures_are_loud():
    measures = dataclasses.replace(
        made.public().private_measures, certificate=honest(private=False)
    )
    html = render_page(made.public(private_measures=measures))
    assert '<div class="stamp alarm"' in html
    assert "May be released" not in html.split("</style>")[1]


def test_fields_read_off_the_data_are_named_at_the_head():
    html = render_page(made.custodian(certificate=honest(schema=DRAFTED)))
    assert '<div class="stamp warning"' in html
    assert "age.min" in html.split("<main>")[0]


@pytest.mark.parametrize("kind", KINDS)
def test_certificates_of_every_kind_are_shown(kind):
    html = render_page(made.custodian(certificate=honest(**KINDS[kind])))
    assert "Privacy spend" in html


@pytest.mark.parametrize(
    "part", [field.name for field in dataclasses.fields(made.minimal()) if field.default is None]
)
def test_any_part_may_be_missing(part):
    Tags(render_page(made.custodian(**{part: None})))


@pytest.mark.parametrize(
    "part",
    ["columns", "wasserstein", "wasserstein_floor", "variation", "history", "notes", "sample"],
)
def test_any_part_may_be_empty(part):
    Tags(render_page(made.custodian(**{part: {} if part == "sample" else ()})))


def test_the_residual_is_explained_where_there_is_one():
    step = {"round": 1, "selection": "posterior", "sigma": 9.5, "residual": 2.4}
    html = render_page(made.custodian(history=[step, {"round": 2, "residual": 1.1}]))
    assert "<h3>Residual</h3>" in html
    assert "1 is noise alone" in html
    assert "ranking selection" not in html
    html = render_page(made.custodian())
    assert "1 is noise alone" not in html
    assert "ranking selection" in html


def test_nothing_reaches_outside_and_no_element_has_a_style_of_its_own():
    tags = Tags(render_page(made.hostile()))
    for _, name, value in tags.attributes:
        assert name != "style"
        assert not name.startswith("on")
        if name in {"href", "src"}:
            assert value.startswith(("#", "data:"))
    assert not {"img", "iframe", "object", "form", "base", "embed"} & set(tags.seen)


def test_the_policy_names_the_hashes_of_the_one_style_and_the_one_script():
    html = render_page(made.hostile())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    assert "unsafe" not in policy
    assert policy.startswith("default-src &#39;none&#39;")
    for tag in ("style", "script"):
        (source,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in policy


def test_no_value_is_taken_for_a_template():
    assert "{{7*7}}{% raw %}" in render_page(made.hostile())


def test_control_characters_and_halves_of_pairs_do_not_reach_the_file():
    html = render_page(made.hostile())
    html.encode()
    assert not set(html) & {"\x00", "\x07", "\x1b", "\x7f", "\u202e", "\u200b", "\ufeff"}


def test_three_hundred_columns_fit():
    names = tuple(f"column number {k} with a name of some length" for k in range(300))
    html = render_page(made.custodian(names))
    assert len(html.encode()) < MOST_BYTES
    assert html.count('<tr data-column="') == 300
    assert html.count('<li class="panel" data-column="') == 60
    assert "Pictures of the 60 worst of 300 columns" in html


def test_two_thousand_columns_fit_too():
    names = tuple(f"c{k}" for k in range(2000))
    contents = made.custodian(names, association=None)
    assert len(render_page(contents).encode()) < MOST_BYTES


def test_corners_of_a_column():
    nothing = ColumnShape((0.0,) * 24, 1.0)
    flat = ColumnComparison("flat", "number", (5.0,) * 25, (), nothing, nothing, 0.0)
    empty = ColumnComparison(
        "empty", "category", (), (), ColumnShape((), 1.0), ColumnShape((), 1.0), 0.0
    )
    odd = ColumnComparison(
        "odd", "number", (-1e308, 1e308), (), None, ColumnShape((1.0,), 0.0), None
    )
    html = render_page(made.custodian(columns=(flat, empty, odd), quality=None))
    assert "nan" not in html.split("</style>")[1].split("<script>")[0]


def test_corners_of_other_parts():
    whole = made.custodian()
    one = dataclasses.replace(
        whole.association, columns=("a",), real=np.array([[np.nan]]), synthetic=np.array([[1.0]])
    )
    flat = dataclasses.replace(
        whole.projection, real=np.zeros((1, 2)), synthetic=np.full((2, 2), np.nan)
    )
    flat = dataclasses.replace(
        flat, real_classes=np.zeros(1, int), synthetic_classes=np.zeros(2, int)
    )
    nothing = UtilityScores("y", "regression", 0, True, ())
    html = render_page(made.custodian(association=one, projection=flat, utility=nothing))
    assert "held out of the real table" in html


def test_gains_are_shown_where_they_were_measured():
    order = CorrelationOrder(
        "y", (2, 3), (0.7, 0.8), "high", gains=(CorrelationGain(("age", "<ill>"), 0.1),)
    )
    assert "age and &lt;ill&gt; tell 0.1" in render_page(made.custodian(order=order))


def test_private_differences_are_shown_with_what_noise_alone_gives():
    found = NoisyDifference(("a<b",), estimate=0.2, floor=0.05, margin=0.01)
    measures = dataclasses.replace(
        made.public().private_measures, macro_f1=0.71, differences=(found,)
    )
    html = render_page(made.public(private_measures=measures))
    assert "a&lt;b" in html
    assert "5.0%" in html
    assert "0.710" in html


def test_the_ends_of_a_histogram_that_are_open_are_marked():
    view = dataclasses.replace(made.custodian().columns[0], open_ends=(False, True))
    assert "\u2265 120" in render_page(made.custodian(columns=(view,)))
    assert "\u2265 120" not in render_page(made.custodian())


def test_words_about_odds_name_what_they_cover():
    together = "the synthetic table and this page together"
    apart = dataclasses.replace(
        made.public().private_measures, total_epsilon=None, total_delta=None
    )
    assert together in render_page(made.public())
    assert together not in render_page(made.public(private_measures=apart))


def test_what_a_picture_of_near_rows_says_is_true_of_all_rows():
    contents = made.custodian()
    text = " ".join(render_page(contents).split())
    assert f"equal one of the {contents.rows['real']:,} real rows" in text
    without = render_page(made.custodian(certificate=None, verification=None))
    assert "the guarantee above" not in without
    assert "nobody\u2019s" not in without
