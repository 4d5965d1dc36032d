"""The page in a real browser: quiet, alone, usable by keyboard, readable in every light."""

import pytest

import contents as made
from tabpe.evaluation.report.verdict import rate_columns

NAMES = "#column-table tbody th"
CARDS = "#column-cards > li > h3"
KINDS = {
    "custodian": made.custodian,
    "public": made.public,
    "minimal": made.minimal,
    "hostile": made.hostile,
}
COLOURED = "p, h1, h2, h3, dt, dd, td, th, li, .grade, .stamp, nav a, .theme button, label, summary"
# The luminance of WCAG 2.2, and the contrast of text against the nearest background behind it.
CONTRASTS = """selector => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const linear = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = element => {
    for (let one = element; one; one = one.parentElement) {
      const colour = channels(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  return Array.from(document.querySelectorAll(selector)).map(element => {
    const pair = [channels(getComputedStyle(element).color), behind(element)].map(light);
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    return [ratio, element.tagName + '.' + element.className];
  });
}"""


@pytest.mark.parametrize("kind", KINDS)
def test_it_opens_from_a_file_in_silence_and_asks_for_nothing_else(visit, kind):
    seen = visit(KINDS[kind]())
    assert seen.problems == []
    assert seen.requests == [seen.address]


def test_its_policy_stops_a_script_and_a_style_that_are_not_its_own(visit):
    seen = visit(made.custodian())
    seen.page.evaluate(
        """() => {
          const script = document.createElement('script');
          script.textContent = 'window.hacked = 1';
          document.body.append(script);
          const style = document.createElement('style');
          style.textContent = 'h1 { color: rgb(1, 2, 3) !important }';
          document.body.append(style);
        }"""
    )
    assert seen.page.evaluate("window.hacked") is None
    assert seen.page.evaluate("getComputedStyle(document.querySelector('h1')).color") != (
        "rgb(1, 2, 3)"
    )
    assert len(seen.problems) == 2


def test_search_leaves_the_columns_that_match_in_the_table_and_in_the_pictures(visit):
    seen = visit(made.custodian())
    assert len(seen.texts(NAMES)) == len(seen.texts(CARDS)) == 12
    seen.page.get_by_label("Search columns").fill("BLOOD")
    assert seen.texts(NAMES) == seen.texts(CARDS) == ["blood pressure"]
    assert seen.texts("#found") == ["1 of 12 columns"]
    seen.page.get_by_label("Search columns").fill("nothing has this name")
    assert seen.texts(NAMES) == seen.texts(CARDS) == []
    seen.page.get_by_label("Search columns").fill("")
    assert len(seen.texts(NAMES)) == 12


def test_the_worst_columns_come_first(visit):
    seen = visit(made.custodian())
    rated = rate_columns(made.custodian())
    expected = sorted(rated, key=lambda name: rated[name])
    assert seen.texts(NAMES) == seen.texts(CARDS) == expected
    sorted_by = seen.page.locator("#column-table th[aria-sort=ascending]")
    assert sorted_by.all_text_contents() == ["Agreement"]


def test_sort_goes_both_ways_and_says_so(visit):
    seen = visit(made.custodian())
    button = seen.page.get_by_role("button", name="Column", exact=True).first
    head = seen.page.locator("#column-table th").first
    button.click()
    assert seen.texts(NAMES) == seen.texts(CARDS) == sorted(made.NUMBERS + made.CATEGORIES)
    assert head.get_attribute("aria-sort") == "ascending"
    button.click()
    assert seen.texts(NAMES) == sorted(made.NUMBERS + made.CATEGORIES, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"


def test_numbers_sort_as_numbers_and_those_that_are_not_there_come_last(visit):
    seen = visit(made.custodian())
    differences = [one.difference for one in made.custodian().columns]
    button = seen.page.locator("#column-table").get_by_role("button", name="Total variation")
    cells = "#column-table tbody td:nth-child(4)"
    for expected in (sorted(differences, reverse=True), sorted(differences)):
        button.click()
        assert seen.texts(cells) == [f"{value:.1%}" for value in expected]
    seen.page.get_by_role("button", name="Mean real").click()
    assert seen.texts("#column-table tbody td:nth-child(7)")[-6:] == ["\u2013"] * 6
    assert seen.page.locator("#column-table th[aria-sort]").count() == 1


def test_search_and_sort_work_with_a_keyboard_alone(visit):
    seen = visit(made.custodian())
    keyboard = seen.page.keyboard
    keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.className") == "skip"
    tab_to(seen, "document.activeElement.id === 'search'")
    keyboard.type("o")
    found = seen.texts(NAMES)
    assert 1 < len(found) < 12
    tab_to(seen, "document.activeElement.textContent === 'Column'")
    assert seen.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    keyboard.press("Enter")
    assert seen.texts(NAMES) == sorted(found)
    keyboard.press("Space")
    assert seen.texts(NAMES) == sorted(found, reverse=True)


def tab_to(seen, reached):
    for _ in range(60):
        seen.page.keyboard.press("Tab")
        if seen.page.evaluate(reached):
            return
    pytest.fail(f"no key leads to {reached}")


def test_the_way_by_keyboard_follows_the_order_of_the_page(visit):
    seen = visit(made.custodian())
    places = []
    for _ in range(30):
        seen.page.keyboard.press("Tab")
        places.append(
            seen.page.evaluate(
                "Array.from(document.querySelectorAll('*')).indexOf(document.activeElement)"
            )
        )
    assert places == sorted(places)
    assert seen.page.locator("[tabindex]:not([tabindex='0']):not([tabindex='-1'])").count() == 0


@pytest.mark.parametrize("kind", ["custodian", "public", "hostile"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_every_light(visit, kind, scheme):
    seen = visit(KINDS[kind](), color_scheme=scheme)
    weak = [one for one in seen.page.evaluate(CONTRASTS, COLOURED) if one[0] < 4.5]
    assert weak == []


def test_the_theme_follows_the_system_until_a_reader_chooses(visit):
    seen = visit(made.custodian(), color_scheme="dark")
    dark = background(seen)
    assert sum(dark) < 150
    seen.page.get_by_role("button", name="light").click()
    light = background(seen)
    assert sum(light) > 600
    assert seen.page.get_by_role("button", name="light").get_attribute("aria-pressed") == "true"
    assert [one for one in seen.page.evaluate(CONTRASTS, COLOURED) if one[0] < 4.5] == []
    seen.page.get_by_role("button", name="dark").click()
    assert background(seen) == dark
    seen.page.emulate_media(color_scheme="light")
    assert background(seen) == dark
    seen.page.get_by_role("button", name="auto").click()
    assert background(seen) == light


def background(seen):
    colour = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]


def test_print_has_the_stamp_and_no_navigation(visit):
    seen = visit(made.custodian(), color_scheme="dark")
    seen.page.emulate_media(media="print")
    assert seen.page.locator(".stamp.custodian").is_visible()
    assert not seen.page.locator("nav.contents").is_visible()
    assert not seen.page.locator("#search").is_visible()
    assert background(seen) == [255, 255, 255]
    assert seen.page.evaluate("getComputedStyle(document.body).page") == "custodian"
    assert len(seen.page.pdf()) > 10_000


@pytest.mark.parametrize(
    ("contents", "name"),
    [
        (made.public(), "public"),
        (made.minimal(), "unproven"),
        (made.custodian(certificate=made.honest(private=False)), "fake"),
    ],
)
def test_every_printed_page_has_the_stamp_of_its_kind(visit, contents, name):
    seen = visit(contents)
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate("getComputedStyle(document.body).page") == name


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_wider_than_the_window(visit, kind, width):
    seen = visit(KINDS[kind](), width=width)
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_all_of_it_is_there_without_scripts(visit):
    seen = visit(made.custodian(), java_script_enabled=False)
    assert seen.page.locator("#column-table tbody tr").filter(visible=True).count() == 12
    assert not seen.page.locator("#search").is_visible()
    assert not seen.page.locator(".theme").is_visible()


def test_links_of_the_page_lead_somewhere(visit):
    seen = visit(made.custodian())
    missing = seen.page.evaluate(
        "Array.from(document.links).map(a => a.hash).filter(h => !h || !document.querySelector(h))"
    )
    assert missing == []


def test_points_of_the_map_can_be_hidden(visit):
    seen = visit(made.custodian())
    seen.page.get_by_label("real rows").uncheck()
    assert seen.page.locator(".points-real").first.is_hidden()
    assert not seen.page.locator(".points-synthetic").first.is_hidden()


def test_many_pictures_are_folded_until_a_column_is_searched(visit):
    names = tuple(f"column {place}" for place in range(30))
    seen = visit(made.custodian(names))
    pictures = seen.page.locator("#column-pictures")
    assert pictures.get_attribute("open") is None
    assert not seen.page.locator(CARDS).first.is_visible()
    seen.page.get_by_label("Search columns").fill("column 7")
    assert seen.page.locator("#column-cards > li:visible").count() == 1


@pytest.mark.parametrize("width", [390, 900])
def test_a_wide_table_scrolls_beside_its_names(visit, width):
    seen = visit(made.custodian(), width=width)
    table = seen.page.get_by_role("region", name="All columns")
    table.evaluate("element => { element.scrollLeft = element.scrollWidth }")
    left = table.evaluate("element => element.getBoundingClientRect().left")
    name = seen.page.locator(NAMES).first.evaluate(
        "element => element.getBoundingClientRect().left"
    )
    assert left <= name < left + 60
    hidden = """element => [...element.querySelectorAll('td.n')].filter(
      cell => cell.scrollWidth > cell.clientWidth + 1).length"""
    assert table.evaluate(hidden) == 0


def test_a_public_page_states_one_epsilon(visit):
    seen = visit(made.public())
    total = made.public().private_measures.total_epsilon
    text = seen.page.locator("main").inner_text()
    facts = seen.page.locator("#privacy .facts.big").inner_text()
    assert f"epsilon\n{total:g}" in facts
    assert f"epsilon {total:g}" in seen.page.locator(".verdict").inner_text()
    assert f"epsilon {total:g}" in seen.page.locator(".card").first.inner_text()
    assert f"epsilon {total:g}" in text


@pytest.mark.parametrize("section", ["pairs", "high-order", "utility", "privacy"])
def test_the_cards_lead_to_the_figures_behind_them(visit, section):
    seen = visit(made.custodian(), reduced_motion="reduce")
    seen.page.locator(f".card a[href='#{section}']").first.click()
    assert seen.page.locator(f"#{section}").evaluate("e => e.getBoundingClientRect().top < 200")
