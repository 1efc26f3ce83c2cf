"""The page of a run or a lab under attack: who shows no token stays for a while at most."""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Iterator

import pytest

from runtime.views.page.server import PageServer, PageState

PATIENCE = 0.5


@pytest.fixture
def server() -> Iterator[PageServer]:
    made = PageServer("a run", lambda _: PageState({}), period=0.05, patience=PATIENCE)
    try:
        yield made
    finally:
        made.close()


def test_requests_that_drip_end_and_who_has_shown_the_token_stays(server: PageServer) -> None:
    address = ("127.0.0.1", server.port)
    with socket.create_connection(address) as browser, contextlib.ExitStack() as stack:
        browser.sendall(
            f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.token}\r\n\r\n".encode()
        )
        strangers = [stack.enter_context(socket.create_connection(address)) for _ in range(20)]
        for one in strangers:
            one.sendall(b"GET / HTTP/1.1\r\nX: ")
        began = time.monotonic()
        while strangers:
            assert time.monotonic() - began < 30
            time.sleep(PATIENCE / 10)
            gone = select.select(strangers, [], [], 0)[0]
            strangers = [one for one in strangers if one not in gone]
            for one in strangers:
                with contextlib.suppress(OSError):  # it is being sent away
                    one.sendall(b"x")
        time.sleep(2 * PATIENCE)
        browser.settimeout(30)
        assert browser.recv(100).startswith(b"HTTP/1.0 200 OK")
        server.close()
        told = b""
        while data := browser.recv(4096):
            told += data
        assert b"event: closed" in told, "it was served to the end"
