"""A real browser for tests of pages: Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

PATIENCE = 30_000
"""So many milliseconds it may take until a page shows what is expected: a machine may be busy."""

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""


@pytest.fixture
def browser() -> Iterator[Browser]:
    """Yield a headless browser."""
    if not CHROMIUM:
        if os.environ.get("CI"):
            pytest.fail("there is no Chromium; .ci/run installs it")
        pytest.skip("there is no Chromium (apt-get install chromium)")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Yield a page of a headless browser; errors in its console fail the test."""
    faults: list[str] = []
    made = browser.new_context().new_page()
    made.on("pageerror", lambda error: faults.append(str(error)))
    made.on(
        "console",
        lambda told: faults.append(told.text) if "Content Security" in told.text else None,
    )
    yield made
    made.context.close()
    assert faults == []
