"""The whole report as people see it in a browser: wide and narrow, light and dark, and on paper."""

import json
import shutil
import subprocess
import sys

import pytest

from undeleted.interfaces.report.reproduction import claims

pytestmark = pytest.mark.services
CORRECTED = {"P6", "P9", "D2", "M5"}
LAPTOP, PHONE = {"width": 1280, "height": 800}, {"width": 375, "height": 740}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    command = [sys.executable, "-m", "undeleted", "reproduce", "--quick", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    assert chromium, "no Chromium is installed"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


def test_all_claims_hold_some_with_a_correction(report):
    said = json.loads((report / "report.json").read_text(encoding="utf-8"))
    assert list(said["claims"]) == claims()
    for name, claim in said["claims"].items():
        expected = "holds with a correction" if name in CORRECTED else "holds"
        assert claim["verdict"] == expected, [f for f in claim["figures"] if not f["holds"]]
        assert bool(claim["correction"]) == (name in CORRECTED)
        assert claim["pictures"], name


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_the_page_is_accessible_and_fits(report, browser, viewport, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = browser.new_page(
        viewport=viewport, color_scheme=scheme, bypass_csp=True
    )  # the checker is a script
    requests, messages = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.goto(f"file://{report}/index.html")
    assert len(requests) == 1, "nothing but the page itself"
    assert messages == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    smallest = page.evaluate(
        """() => Math.min(...[...document.querySelectorAll('figure svg text')].map(
            text => text.getBoundingClientRect()).filter(box => box.width > 0).map(
            box => Math.max(box.width, box.height)))"""
    )
    assert smallest >= 9, "letters in pictures can be read"
    page.close()


def test_the_page_refuses_to_load_anything(report, browser):
    page = browser.new_page()
    failures = []
    page.on("requestfailed", lambda request: failures.append((request.url, request.failure)))
    page.goto(f"file://{report}/index.html")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=\"http://example.org/x.png\">')")
    page.wait_for_timeout(200)
    assert failures == [("http://example.org/x.png", "csp")]
    page.close()


def test_the_page_prints(report, browser):
    page = browser.new_page()
    page.goto(f"file://{report}/index.html")
    printed = page.pdf(format="A4")
    assert printed[:5] == b"%PDF-"
    assert 10 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page/") <= 80
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    page.close()
