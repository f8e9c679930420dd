"""The page in a browser: all four parts, wide and narrow, light and dark, by mouse and by keyboard."""

import json
import os
import re
import shutil
import struct
import time
from pathlib import Path

import pytest

from support.services import Published, running

pytestmark = pytest.mark.services
LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 375, "height": 740}
PATHS = (
    "/",
    "/leave",
    "/lab?game=median&deleted=10",
    "/lab?game=means&deleted=60",
    "/lab?game=picture&deleted=300",
)
DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def demo():
    with running("--demo") as service:
        yield service.told


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert chromium, "no Chromium is installed"
    with sync_playwright() as playwright:
        running_ = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running_
        running_.close()


@pytest.fixture
def page(browser, demo):
    """A page that says nothing in its console and asks nobody else, under its own policy."""
    found = browser.new_page(viewport=LAPTOP, base_url=demo["address"])
    elsewhere, messages = [], []
    found.on(
        "request",
        lambda r: None if r.url.startswith((demo["address"], "data:", "blob:")) else elsewhere.append(r.url),
    )
    found.on("console", lambda m: messages.append(m.text))
    found.on("pageerror", lambda e: messages.append(str(e)))
    yield found
    found.close()
    assert elsewhere == []
    assert messages == []


def drawn(page):
    """All charts have been drawn."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('[data-chart]')]"
        ".every(e => e.dataset.drawn && e.querySelector('svg'))"
    )


def number(page, publication="people"):
    """What the dashboard's table says of a publication."""
    row = page.locator(f"section.card:has(h2:text-is('{publication}')) tbody tr").first
    return float(row.locator("td").first.inner_text().replace(",", ""))


def picked(demo, which):
    return json.loads(Path(demo["receipts"]).read_text().splitlines()[which])["receipt"]


def test_whoever_cannot_reach_the_service_is_told_so(browser, tmp_path):
    """It ends between the two steps; a click shows that nothing is known, and a second one the same, once."""
    published = Published(tmp_path, people=20)
    found = browser.new_page(viewport=PHONE)
    with running("--store", published.store, "--log-level", "error") as service:
        found.goto(service.told["address"] + "/leave")
        found.fill("#receipt", published.receipt(3))
        found.click("text=See what will happen")
        found.wait_for_selector("text=Delete my record")
    for _ in range(2):
        found.click("text=Delete my record")
        found.wait_for_selector("#step [role=alert]:has-text('cannot be reached')")
    assert found.locator("[role=alert]").count() == 1
    assert "sending it twice is safe" in found.locator("[role=alert]").inner_text()
    found.close()
    assert published.is_there(3)


def test_enter_in_the_seed_of_the_lab_deletes_nothing(page):
    page.goto("/lab?game=median&deleted=10")
    drawn(page)
    page.fill("#seed", "8")
    page.press("#seed", "Enter")
    page.wait_for_url("**seed=8**")
    assert page.locator("#count").inner_text().startswith("10 of")
    assert "deleted=10" in page.url


def test_a_person_leaves_and_the_dashboard_follows_by_itself(page, browser, demo, tmp_path):
    page.goto("/")
    drawn(page)
    before, version = number(page), page.locator("#version").inner_text()
    path = page.locator("section.card:has(h2:text-is('people')) [data-chart] svg path").first.get_attribute(
        "d"
    )
    spec = page.locator("section.card:has(h2:text-is('people')) [data-chart]").first.get_attribute(
        "data-chart"
    )

    leaver = browser.new_page(base_url=demo["address"])
    leaver.goto("/leave")
    leaver.fill("#receipt", picked(demo, 41))
    leaver.click("text=See what will happen")
    leaver.wait_for_selector("text=This receipt is genuine")
    assert leaver.locator("text=What it cannot hide").count() == 1
    page.wait_for_timeout(2500)
    assert page.locator("#version").inner_text() == version, "nothing happens before they confirm"
    leaver.click("text=Delete my record")
    leaver.wait_for_selector("#certificate")
    certificate = leaver.input_value("#certificate")
    with leaver.expect_download() as download:
        leaver.click("text=Save it")
    download.value.save_as(tmp_path / "certificate.txt")
    assert (tmp_path / "certificate.txt").read_text().strip() == certificate
    leaver.close()

    page.wait_for_function(f"() => document.querySelector('#version').innerText !== '{version}'")
    drawn(page)
    assert number(page) == before - 1
    after = page.locator("section.card:has(h2:text-is('people')) [data-chart]").first.get_attribute(
        "data-chart"
    )
    assert after != spec, "the chart has changed with it"
    assert path is not None
    page.wait_for_function("() => document.querySelector('#erasure').innerText === 'all erased'")


def test_a_receipt_can_be_uploaded_and_an_altered_one_is_refused(page, demo, tmp_path):
    line = Path(demo["receipts"]).read_text().splitlines()[42]
    (tmp_path / "mine.json").write_text(line)
    page.goto("/leave")
    page.set_input_files("#file", tmp_path / "mine.json")
    page.wait_for_function("() => document.querySelector('#receipt').value.includes('receipt')")
    page.click("text=See what will happen")
    page.wait_for_selector("text=Delete my record")
    head, body, signature = picked(demo, 43).split(".")
    page.fill("#receipt", f"{head}.{body}.{signature[::-1]}")
    page.click("text=See what will happen")
    page.wait_for_selector("[role=alert]")
    assert page.locator("text=Delete my record").count() == 0


def test_a_file_that_is_too_large_is_told(browser, demo, tmp_path):
    page = browser.new_page(base_url=demo["address"])  # the browser itself tells its console of a refusal
    (tmp_path / "all.jsonl").write_text("x" * 100_000)
    page.goto("/leave")
    page.set_input_files("#file", tmp_path / "all.jsonl")
    page.wait_for_function("() => document.querySelector('#receipt').value.length > 90000")
    page.click("text=See what will happen")
    page.wait_for_selector("[role=alert]:has-text('more than one receipt')")
    assert "Nothing was deleted" in page.inner_text("#step")
    assert page.locator("text=Delete my record").count() == 0
    page.close()


def test_the_median_is_walked_point_by_point(page):
    page.goto("/lab")
    drawn(page)
    for deleted in range(1, 5):
        page.click("text=Delete one of my points")
        page.wait_for_function(f"() => document.querySelector('#count').innerText.startsWith('{deleted} of')")
    drawn(page)
    assert (
        page.locator("#says1").inner_text()
        == "2 people who stay are exposed by deletions, to the last digit."
    )
    assert page.locator("#says2").inner_text().startswith("Nobody who stays is exposed")
    assert "--controlled 4 --against retrain-median --seed 7" in page.locator("pre").first.inner_text()
    assert "deleted=4" in page.url, "the run has an address"
    page.click("text=Start over")
    page.wait_for_function("() => document.querySelector('#count').innerText.startsWith('0 of')")
    page.select_option("#right", "frozen-median")
    page.fill("#seed", "8")
    page.click("text=Delete all")
    page.wait_for_function("() => document.querySelector('#count').innerText.startsWith('40 of')")
    assert page.locator("#says1").inner_text().startswith("20 people")
    assert page.locator("#side2").inner_text() == "frozen-median"


def test_two_means_give_up_points_and_the_picture_appears_on_the_left_alone(page):
    page.goto("/lab")
    page.click("text=2-means reveals its points")
    page.click("text=Delete all")
    page.wait_for_selector("#says1.bad")
    drawn(page)
    assert page.locator("#says2").inner_text().startswith("Nobody who stays is exposed")
    page.click("text=A hidden picture appears")
    page.click("#more")
    page.wait_for_function("() => document.querySelector('#count').innerText.startsWith('76 of')")
    page.click("text=Delete all")
    page.wait_for_function("() => document.querySelector('#count').innerText.startsWith('762 of')")
    left, right = (page.locator(f"#says{side}").inner_text() for side in (1, 2))
    assert int(re.match(r"(\d+)%", left)[1]) >= 85
    assert int(re.match(r"(\d+)%", right)[1]) <= 55
    sizes = page.evaluate("[...document.querySelectorAll('img.pixels')].map(i => i.naturalWidth)")
    assert sizes == [136, 136]


def test_a_keyboard_is_enough(page, demo):
    """Tab to everything; leave and play without a mouse."""
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.goto("/leave")
    page.focus("#receipt")
    page.keyboard.insert_text(picked(demo, 44))
    for _ in range(2):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "See what will happen"
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Delete my record")
    page.goto("/lab")
    page.focus("#seed")
    for _ in range(2):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#count').innerText.startsWith('1 of')")


def test_audits_are_shown_with_their_verdicts(page):
    page.goto("/audits")
    deadline = time.monotonic() + 90
    while page.locator("tbody tr").count() < 2 and time.monotonic() < deadline:
        time.sleep(1)
        page.reload()
    assert page.locator("tr:has-text('retrain:statistics:median') td.bad").first.inner_text() == "broken"
    assert page.locator("tr:has-text('mechanism:noisy-histogram') td.good").count() == 1
    page.click("text=retrain:statistics:median")
    page.wait_for_selector("text=What was tried")
    assert "undeleted replay" in page.inner_text("main")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_every_page_is_accessible_and_fits(browser, demo, viewport, scheme):
    from axe_playwright_python.sync_playwright import Axe

    # the checker is a script of its own, which the page's policy would refuse
    page = browser.new_page(
        viewport=viewport,
        color_scheme=scheme,
        bypass_csp=True,
        base_url=demo["address"],
        reduced_motion="reduce",
    )
    for path in (*PATHS, "/audits", "/login"):
        page.goto(path)
        drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], path
        found = Axe().run(page)
        assert found.violations_count == 0, (path, found.generate_report())
    page.goto("/leave")
    page.fill("#receipt", picked(demo, 45))
    page.click("text=See what will happen")
    page.wait_for_selector("text=Delete my record")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    page.close()


def test_everything_works_without_scripts_but_the_charts(browser, demo):
    context = browser.new_context(java_script_enabled=False, base_url=demo["address"])
    page = context.new_page()
    page.goto("/")
    assert "quantile 0.5" in page.inner_text("main")
    page.goto("/lab")
    page.click("text=Delete one of my points")
    assert "1 of 40" in page.inner_text("main")
    page.goto("/leave")
    page.fill("#receipt", picked(demo, 46))
    page.click("text=See what will happen")
    page.click("text=Delete my record")
    assert "holds no record" in page.inner_text("main")
    context.close()


def test_a_reader_logs_in_and_out(browser, tmp_path):
    published = Published(tmp_path, people=50)
    with running("--store", published.store) as service:
        page = browser.new_page(base_url=service.told["address"])
        page.goto("/lab")
        page.fill("#key", "nonsense")
        page.click("button:text-is('Log in')")
        page.wait_for_selector("[role=alert]")
        page.fill("#key", published.keys["reader"])
        page.click("button:text-is('Log in')")
        page.wait_for_selector("text=Play the attacker")
        page.click("text=Dashboard")
        page.wait_for_selector("text=What is published")
        page.click("text=Log out")
        page.wait_for_selector("text=Log in with a key")
        page.close()


def test_the_policy_is_the_browsers_own(browser, demo):
    """A script that is put into the page is not run, and nothing is fetched from elsewhere."""
    page = browser.new_page(base_url=demo["address"])
    page.goto("/lab")
    ran = page.evaluate(
        """async () => {
            const script = document.createElement('script');
            script.textContent = 'window.ran = true';
            document.body.append(script);
            const fetched = await fetch('http://127.0.0.1:9/').then(() => true, () => false);
            return [window.ran === true, fetched];
        }"""
    )
    assert ran == [False, False]
    page.close()


def test_the_pictures_of_the_readme_are_of_this_page(browser, demo):
    """Taken at every run; written where UNDELETED_PICTURES says, as `UNDELETED_PICTURES=docs` does."""
    page = browser.new_page(viewport={"width": 1120, "height": 860}, base_url=demo["address"])
    for name, path in (("page-dashboard", "/"), ("page-lab", "/lab?game=median&deleted=24")):
        page.goto(path)
        drawn(page)
        shot = page.screenshot()
        if folder := os.environ.get("UNDELETED_PICTURES"):
            Path(folder, f"{name}.png").write_bytes(shot)
        committed = (DOCS / f"{name}.png").read_bytes()
        assert struct.unpack(">II", shot[16:24]) == struct.unpack(">II", committed[16:24])
        assert 0.5 < len(shot) / len(committed) < 2.0, "the same page, or nearly"
    page.close()
