"""The site: built without a warning, with every public name, and opened in Chromium without a network."""

import json
import os
import re
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from llp.runs.record import RunRecord
from tests.helpers.browser import CHROMIUM, DRIVER, resize, start_browser
from tests.helpers.pages import CHECKOUT, public_names

pytest.importorskip("mkdocs", reason="needs the extra site: make docs")
HERE = CHROMIUM.exists() and DRIVER.exists()
in_chromium = pytest.mark.skipif(not HERE, reason="needs Chromium: make test-browser")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder]
    env = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "WARNING" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def opened(site, tmp_path_factory):
    """A browser, and the address at which it finds the site."""

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = start_browser(tmp_path_factory.mktemp("profile"))
        resize(browser, 1440)
        yield browser, f"http://127.0.0.1:{server.server_port}/"
        browser.quit()
        server.shutdown()


@pytest.mark.docs
def test_the_api_pages_have_the_public_names_and_no_others(site):
    shown = {name for page in site.glob("api/*.html") for name in re.findall(r'<h3 id="(llp[\w.]+)"', page.read_text())}
    listed = {f"{module}.{name}" for module, names in public_names().items() for name in names}
    assert shown == {name.replace("llp.api.", "llp.") for name in listed}
    fields = re.findall(r'<h4 id="llp\.runs\.record\.RunRecord\.(\w+)"', (site / "api" / "runs.html").read_text())
    assert {*fields} - {"write", "read"} == {*RunRecord.model_fields}


@pytest.mark.browser
@in_chromium
def test_every_page_of_the_navigation_opens_and_nothing_comes_from_elsewhere(opened):
    browser, home = opened
    browser.get(home)
    links = "return [...document.querySelectorAll('.md-nav--primary a[href], .md-tabs a[href]')].map(a => a.href)"
    addresses, seen = {address.partition("#")[0] for address in browser.execute_script(links)}, set()
    while addresses - seen:
        address = (addresses - seen).pop()
        seen.add(address)
        browser.get(address)
        assert browser.find_elements("css selector", "article h1"), address
        broken = "return [...document.images].filter(image => !image.naturalWidth).map(image => image.src)"
        assert browser.execute_script(broken) == [], address
        addresses |= {found.partition("#")[0] for found in browser.execute_script(links)}
    assert len(seen) > 20
    assert [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    events = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    asked = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    assert {url for url in asked if url.startswith("http") and not url.startswith(home)} == set()
