"""Names and cells that would rather be markup are shown as what they are: text."""

import pytest

import contents as made
from tabpe.evaluation.report.text import clean_text


@pytest.fixture
def seen(visit):
    return visit(made.hostile())


def test_nothing_of_it_runs(seen):
    seen.page.mouse.move(300, 300)
    seen.page.wait_for_timeout(100)
    assert seen.page.evaluate("window.hacked") is None
    assert seen.problems == []


def test_it_makes_no_element_that_a_plain_page_has_not(visit, seen):
    count = "name => document.querySelectorAll(name).length"
    assert seen.page.evaluate(count, "script") == 1
    assert seen.page.evaluate(count, "style") == 1
    assert seen.page.evaluate(count, "img, iframe, object, embed, form, base, [style]") == 0
    attributes = """() => Array.from(document.querySelectorAll('*'))
        .flatMap(one => Array.from(one.attributes)).map(one => one.name)"""
    hostile = set(seen.page.evaluate(attributes))
    assert hostile <= set(visit(made.custodian()).page.evaluate(attributes))
    assert not any(name.startswith("on") for name in hostile)


def test_names_are_there_letter_by_letter(seen):
    names = seen.texts("#column-table tbody th bdi")
    assert set(made.VERBATIM) <= set(names)
    assert {clean_text(text) for text in made.HOSTILE if text.strip()} <= set(names)


def test_cells_are_there_letter_by_letter(seen):
    assert set(made.VERBATIM) <= set(seen.texts("#sample td bdi"))


def test_a_long_name_is_cut_by_sight_and_whole_in_its_title(seen):
    name = seen.page.locator("#column-table tbody th bdi", has_text="WWWW").first
    assert name.get_attribute("title") == "W" * 500
    assert name.bounding_box()["width"] < 300


def test_text_from_right_to_left_leaves_its_neighbours_alone(seen):
    isolation = "found => found.map(one => getComputedStyle(one).unicodeBidi)"
    assert set(seen.page.locator("bdi").evaluate_all(isolation)) == {"isolate"}


def test_the_search_takes_such_a_name(seen):
    for text in made.VERBATIM:
        seen.page.get_by_label("Search columns").fill(text)
        assert text in seen.texts("#column-table tbody th bdi")
