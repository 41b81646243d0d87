"""A headless Chromium for pictures and tests of the report page (Debian's packages chromium and chromium-driver)."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)


class NoBrowser(RuntimeError):
    """There is no browser here; the message says why and how to get one."""


def find_browser(install: bool = False, seconds: int = 300) -> tuple[str, str]:
    """Paths of a Chromium and its driver; with ``install``, Debian's are installed when there are none."""
    found = _installed()
    if found is None and install and shutil.which("apt-get") and os.geteuid() == 0:
        command = "apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium chromium-driver"
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        try:
            subprocess.run(["sh", "-c", command], env=environment, timeout=seconds, check=True, capture_output=True)
        except (subprocess.SubprocessError, OSError) as error:
            raise NoBrowser(f"no Chromium, and installing Debian's failed: {error}") from None
        found = _installed()
    if found is None:
        raise NoBrowser("no Chromium with its driver found; on Debian: apt-get install chromium chromium-driver")
    return found


def _installed() -> tuple[str, str] | None:
    browser = next((path for path in map(shutil.which, _BROWSERS) if path), None)
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def open_browser(paths: tuple[str, str]) -> Iterator["Chrome"]:
    """A fresh browser with its own profile; it logs everything its console says."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    browser, driver = paths
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = browser
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        window = webdriver.Chrome(options=options, service=Service(driver))
        try:
            yield window
        finally:
            window.quit()


def set_screen(window: "Chrome", width: int, height: int, dark: bool = False) -> None:
    """The size of the page in CSS pixels (a phone below 600), and light or dark."""
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
    })
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
    })
