"""The page of a lab in a real browser."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from runtime.peers.watching.view import view_of
from runtime.views.page.server import PageServer, PageState
from tests.unit.peers.test_watching import host, run, status

EVIL = '<img src=x onerror="document.title=1">'


def test_a_browser_shows_the_peers_and_the_replicas_of_a_run(
    page: Page,
) -> None:
    own = status("me", host("near", 0.4), host("far", 17.1), host(EVIL, 3.0),
                 runs=(run("r", 1),), ranks={"r": [[0, 0]]})  # fmt: skip
    far = status("far", runs=(run("r", 1),), ranks={"r": [[0, 1]]})
    shown = PageState(view_of(own, [far]).document)
    server = PageServer("a lab", lambda _: shown)
    try:
        page.goto(server.url)
        expect(page.locator("#runs tbody")).to_contain_text("far (0.1), me (0.0)")
        expect(page.locator("#distances circle[fill]")).to_have_count(3)
        expect(page.locator("#peers tbody tr")).to_have_count(4)
        expect(page.locator("#peers")).to_contain_text(EVIL)
        assert page.locator("img").count() == 0
    finally:
        server.close()
