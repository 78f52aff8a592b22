"""The report's page in a real Chromium, without a network: its tables, figures and dialogs work, by keyboard too."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.helpers.browser import CHROMIUM, DRIVER, resize, start_browser
from tests.helpers.composed import report
from tests.helpers.grids import KEYS, RUN_KEYS, write_analysis, write_grid
from tests.helpers.records import write_run

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (CHROMIUM.exists() and DRIVER.exists()), reason="needs Chromium: make test-browser"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = start_browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a whole grid."""
    outputs_dir = tmp_path_factory.mktemp("outputs")
    write_grid(outputs_dir)
    write_analysis(outputs_dir)
    return report(outputs_dir).page


@pytest.fixture
def opened(browser, page):
    resize(browser, 1280)
    browser.get_log("browser"), browser.get_log("performance")
    browser.get(page.as_uri())
    return browser


def column(browser, table, number):
    script = (
        "return [...document.getElementById(arguments[0]).tBodies[0].rows].map(r => r.cells[arguments[1]].innerText)"
    )
    return browser.execute_script(script, table, number)


def press(browser, *keys):
    from selenium.webdriver import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


def test_the_overview_answers_first(opened):
    text = opened.find_element("id", "overview").text
    assert "dllp_bce has the best test AUC on 6 of 6 datasets of feature bags." in text
    assert "optimistic" in text
    assert "350 of 350 runs finished, 0 failed" in text
    assert opened.execute_script("return document.querySelector('main > section').id") == "overview"


def test_every_table_can_be_opened_and_has_its_rows(opened):
    details = opened.find_elements("css selector", "details.table")
    assert len(details) >= 16
    opened.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    empty = "return [...document.querySelectorAll('table')].filter(t => !t.tBodies[0]?.rows.length).map(t => t.id)"
    assert opened.execute_async_script(f"setTimeout(() => arguments[0]((() => {{{empty}}})()), 300)") == []
    assert column(opened, "flights_paper_auc-scores", 0) == [*sorted(KEYS), *RUN_KEYS[2:], *RUN_KEYS[:2]]


def test_columns_sort_both_ways_by_their_numbers(opened):
    head = opened.find_elements("css selector", "#flights_paper_auc-scores thead button")[2]
    head.click()
    rising = [float(text[:6]) for text in column(opened, "flights_paper_auc-scores", 2)]
    assert rising == sorted(rising)
    head.click()
    assert [float(text[:6]) for text in column(opened, "flights_paper_auc-scores", 2)] == rising[::-1]
    script = "return document.querySelectorAll('#flights_paper_auc-scores th[aria-sort=descending]').length"
    assert opened.execute_script(script) == 1


def test_rows_filter_by_words_and_say_how_many(opened):
    field = opened.find_element("css selector", "input[data-table='flights_paper_auc-scores']")
    field.send_keys("dest fixed")
    assert column(opened, "flights_paper_auc-scores", 0) == list(RUN_KEYS[2:])
    assert field.find_element("xpath", "../../span").text == "2 of 10 rows"
    field.clear()
    field.send_keys("nothing of the kind")
    assert column(opened, "flights_paper_auc-scores", 0) == []


def test_what_has_no_number_stays_last_either_way(browser, tmp_path):
    for key, methods in (("a", ["dllp_bce", "upm"]), ("b", ["upm"]), ("c", ["dllp_bce", "upm"])):
        for method in methods:
            write_run(tmp_path, 0.6 if key == "a" else 0.7, grouping_key=key, method=method)
    browser.get(report(tmp_path, figures=[]).page.as_uri())
    orders = []
    for _ in range(2):
        browser.find_element("xpath", "//table[@id='flights_paper_auc-scores']//th/button[.='dllp_bce']").click()
        orders.append(column(browser, "flights_paper_auc-scores", 0))
    assert orders == [["a", "c", "b"], ["c", "a", "b"]]


def test_a_page_that_loads_itself_again_keeps_what_its_reader_chose(browser, tmp_path, monkeypatch):
    from selenium.webdriver.support.ui import WebDriverWait

    monkeypatch.setattr("llp.report.WATCH_SECONDS", 2)
    write_run(tmp_path, 0.6)
    write_run(tmp_path, 0.7, grouping_key="random_64")
    browser.get(report(tmp_path, figures=[], watch=True).page.as_uri())
    table = "flights_paper_auc-scores"
    dark = browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    browser.find_element("id", "theme").click()
    browser.find_element("css selector", "#flights-completeness").find_element("xpath", "ancestor::details").click()
    for _ in range(2):
        browser.find_elements("css selector", f"#{table} thead button")[0].click()
    browser.find_element("css selector", f"input[data-table='{table}']").send_keys("random")
    browser.execute_script("window.old = true")
    write_run(tmp_path, 0.8, grouping_key="random_256")
    report(tmp_path, figures=[], watch=True)
    WebDriverWait(browser, 60).until(lambda found: not found.execute_script("return window.old"))
    WebDriverWait(browser, 60).until(
        lambda found: found.execute_script(
            "return document.readyState === 'complete' && !!document.querySelector('tr')"
        )
    )
    assert column(browser, table, 0) == ["random_256", "random_64"]
    assert browser.execute_script("return document.documentElement.dataset.theme") == ("light" if dark else "dark")
    assert browser.execute_script("return document.activeElement.dataset.table") == table
    completeness = browser.find_element("css selector", "#flights-completeness")
    assert completeness.find_element("xpath", "ancestor::details").get_attribute("open")
    press(browser, *"_64")
    assert column(browser, table, 0) == ["random_64"]


def test_a_cell_leads_to_its_runs_by_keyboard(opened):
    from selenium.webdriver import Keys

    button = opened.find_element("css selector", "#flights_paper_auc-scores td.best button")
    opened.execute_script("arguments[0].focus()", button)
    press(opened, Keys.ENTER)
    dialog = opened.find_element("id", "cell")
    assert dialog.is_displayed()
    text = dialog.text
    assert "flights: dllp_bce on carrier_dest" in text
    assert "optimizer.lr" in text
    assert dialog.find_elements("css selector", "polyline")
    rows = dialog.find_elements("css selector", "tbody tr")
    assert [row.find_element("css selector", "th").text for row in rows] == list("01234")
    for link in dialog.find_elements("css selector", "a"):
        if link.text in ("metrics.csv", "result.json"):
            path = opened.execute_script("return decodeURIComponent(new URL(arguments[0].href).pathname)", link)
            assert Path(path).is_file()
    press(opened, Keys.ESCAPE)
    assert not dialog.is_displayed()
    assert opened.switch_to.active_element == button


def test_figures_are_loaded_and_enlarge(opened):
    script = (
        "return [...document.querySelectorAll('figure img')].filter(i => !i.complete || i.naturalWidth < 300).length"
    )
    assert opened.execute_script(script) == 0
    figures = opened.find_elements("css selector", ".enlarge")
    assert len(figures) == 11
    opened.execute_script("arguments[0].click()", figures[0])
    dialog = opened.find_element("id", "figure")
    assert dialog.is_displayed()
    assert dialog.find_element("css selector", "img").size["width"] > 600


def test_nothing_is_asked_of_a_network_and_the_console_stays_empty(opened, page):
    for button in opened.find_elements("css selector", "summary"):
        opened.execute_script("arguments[0].click()", button)
    assert opened.get_log("browser") == []
    asked = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    urls = {one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"}
    assert {url for url in urls if not url.startswith("data:")} <= {page.as_uri()}


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_its_width(opened, width, page, tmp_path):
    resize(opened, width)
    opened.get(page.as_uri())
    opened.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert opened.execute_script("return document.documentElement.scrollWidth") <= width
    assert opened.save_screenshot(str(tmp_path / f"{width}.png"))


def contrast(colour, ground):
    def luminance(text):
        parts = [int(part) / 255 for part in re.findall(r"\d+", text)[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(colour), luminance(ground)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_in_light_and_dark(opened, theme):
    if opened.execute_script("return document.documentElement.dataset.theme") != theme:
        opened.find_element("id", "theme").click()
    ground = opened.execute_script("return getComputedStyle(document.body).backgroundColor")
    for selector in ("body", ".card p", "a", "td.best", ".notes"):
        script = "return getComputedStyle(document.querySelector(arguments[0])).color"
        assert contrast(opened.execute_script(script, selector), ground) >= 4.5, selector


def test_screen_readers_find_names_for_everything(opened):
    unnamed = """
      const label = (e) => e.getAttribute("aria-label") || e.getAttribute("alt");
      const named = (e) => label(e) || e.innerText?.trim() || e.labels?.length;
      return [...document.querySelectorAll("button, a, input, img, progress")]
        .filter((e) => !e.closest("dialog") && !named(e)).map((e) => e.outerHTML.slice(0, 80));"""
    assert opened.execute_script(unnamed) == []
    assert opened.execute_script("return document.documentElement.lang") == "en"
    scopes = "return [...document.querySelectorAll('th')].every(th => th.scope)"
    assert opened.execute_script(scopes)


def test_it_prints_with_all_its_tables(page, tmp_path):
    pdf = tmp_path / "page.pdf"
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += [f"--user-data-dir={tmp_path / 'profile'}", f"--print-to-pdf={pdf}", page.as_uri()]
    subprocess.run([CHROMIUM, *flags], check=True, capture_output=True, timeout=120)
    assert pdf.read_bytes().count(b"/Type /Page\n") >= 3


def test_names_with_markup_stay_text(browser, tmp_path):
    write_run(tmp_path, 0.6, dataset="<script>alert(1)</script>", method="</script><img src=x onerror=alert(2)>")
    browser.get_log("browser")
    browser.get(report(tmp_path).page.as_uri())
    assert browser.get_log("browser") == []
    assert "<script>alert(1)</script>" in browser.find_element("tag name", "main").text
    assert browser.find_elements("css selector", "img[src=x]") == []


def test_a_page_of_nothing_says_what_is_missing(browser, tmp_path):
    browser.get_log("browser")
    browser.get(report(tmp_path).page.as_uri())
    text = browser.find_element("tag name", "main").text
    assert all(said in text for said in ("No run is finished yet.", "Nothing was started.", "published and ours"))
    assert browser.get_log("browser") == []
