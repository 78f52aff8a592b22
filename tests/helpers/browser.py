"""A real headless Chromium, without any network."""

from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")


def start_browser(profile: Path) -> Chrome:
    """Start Chromium with an empty profile; every request that leaves this machine fails."""
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={profile}"),
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return Chrome(options=options, service=Service(str(DRIVER)))


def resize(browser: Chrome, width: int, height: int = 900) -> None:
    """Set the size of the page itself, whatever the window's borders."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
