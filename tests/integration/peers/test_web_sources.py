"""Files of a real web server, as peers and submitters read them."""

from __future__ import annotations

import hashlib
import io
import re
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NoReturn

import pytest

from runtime.peers.errors import PeerError, Refused
from runtime.peers.staging.cache import ContentCache
from runtime.peers.staging.delivery import Receiver, StagedContent, deliver
from runtime.peers.staging.service import StagingService
from runtime.peers.staging.web import MOST_BYTES, WebSource, download, open_web_source
from runtime.peers.submission.web_contents import WebContents
from runtime.web_address import WebAddress

DATA = bytes(range(256)) * 4000
DIGEST = hashlib.sha256(DATA).hexdigest()
CONTENT = [DIGEST, len(DATA)]


class _Handler(BaseHTTPRequestHandler):
    """Sends DATA in the way that the path names."""

    protocol_version = "HTTP/1.1"
    server: WebServer

    def do_GET(self) -> None:
        asked = self.headers.get("Range", "")
        self.server.asked.append(f"{self.path} {asked}".strip())
        self.close_connection = True
        match self.path.split("/")[1:]:
            case ["cut" | "cut-once" | "cut-whole" | "reset" | "tagged" | "growing" as how, *_]:
                self._break_off(how, asked)
            case ["whole" | "small" as how, *_]:
                self._send("", DATA[:10] if how == "small" else DATA)
            case ["other", *_]:
                self._send("", b"x" * len(DATA))
            case ["unsaid", *_]:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(DATA)
            case ["less", *_]:
                self._send(asked, most=0)
            case ["silent", *_]:
                self.server.ending.wait(20)
            case ["slow" | "slowly" | "chunked" | "trickling" as how, *_]:
                self._take_time(how)
            case ["to", where, *rest]:
                self.send_response(302)
                self.send_header("Location", f"{where}:/{'/'.join(rest)}")
                self.end_headers()
            case ["moved", *_]:
                self.send_response(302)
                self.send_header("Location", "/plain/data")
                self.end_headers()
            case ["plain", *_]:
                self._send(asked)
            case _:
                self.send_error(404)

    def _send_chunks(self, how: str) -> None:
        """Send all in chunks, but the first time no end; or the head of a chunk, byte by byte."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while how == "trickling" and not self.server.ending.wait(0.1):
            self.wfile.write(b"0")
        self.wfile.write(b"%x\r\n%b\r\n" % (len(DATA), DATA))
        if len(self.server.asked) > 1:
            self.wfile.write(b"0\r\n\r\n")

    def _take_time(self, how: str) -> None:
        """Send all of it in pieces, or headers without an end."""
        if how in ("chunked", "trickling"):
            self._send_chunks(how)
            return
        if how == "slowly":
            self._send("", most=300_000)
            for first in range(300_000, len(DATA), 100_000):
                self.server.ending.wait(0.1)
                self.wfile.write(DATA[first : first + 100_000])
            return
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not self.server.ending.wait(0.1):
            self.wfile.write(b"More: follows\r\n")

    def _break_off(self, how: str, asked: str) -> None:
        """Send a piece only; some files change from one request to another."""
        before = len(self.server.asked) - 1
        if how == "cut-once":
            self._send("", most=len(DATA) if before else 300_000)
            return
        tag = f'"{before // 2}"'
        data = DATA + bytes(min(before, 1)) if how == "growing" else DATA
        if how == "cut-whole" or (how == "tagged" and self.headers.get("If-Range") != tag):
            asked = ""
        self._send(asked, data, most=300_000, tag=tag if how == "tagged" else "")
        if how == "reset":
            self.server.ending.wait(0.2)  # what has not been read is lost
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()

    def _send(self, asked: str, data: bytes = DATA, most: int = 1 << 30, tag: str = "") -> None:
        found = re.fullmatch(r"bytes=(\d+)-", asked)
        first = int(found[1]) if found else 0
        self.send_response(206 if found else 200)
        if tag:
            self.send_header("ETag", tag)
        if found:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - first))
        self.end_headers()
        self.wfile.write(data[first : first + most])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class WebServer(ThreadingHTTPServer):
    """A web server of this machine, and what it was asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.ending = threading.Event()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


@pytest.fixture
def server() -> Iterator[WebServer]:
    with WebServer() as made:
        thread = threading.Thread(target=made.serve_forever, args=[0.05])
        thread.start()
        try:
            yield made
        finally:
            made.ending.set()
            made.shutdown()
            thread.join()


def service(
    tmp_path: Path,
    *,
    opened: Callable[[str], AbstractContextManager[WebSource]] | None = open_web_source,
    clock: Callable[[], float] = time.monotonic,
) -> StagingService:
    cache = ContentCache(tmp_path / "cache", 1 << 30)
    return StagingService(cache, _agree, _no_peer, open_web=opened, clock=clock)


def _agree(caller: str, key: str) -> None:
    """Let everybody bring files."""


def _no_peer(name: str, address: str, digest: str) -> NoReturn:
    raise PeerError(f"there is no peer {name} at {address} with {digest[:4]}")


def fetch(peer: StagingService, *sources: str) -> object:
    return peer.fetch("user:ana", "key", CONTENT, list(sources))["source"]


@pytest.mark.parametrize("how", ["plain", "unsaid", "moved"])
def test_a_peer_fetches_from_a_web_server(tmp_path: Path, server: WebServer, how: str) -> None:
    peer, url = service(tmp_path), server.url(f"{how}/data")
    assert fetch(peer, url) == url
    found = peer.cache.path(DIGEST)
    assert found is not None
    assert found.read_bytes() == DATA


def test_what_is_there_is_not_asked_for_again(tmp_path: Path, server: WebServer) -> None:
    peer = service(tmp_path)
    peer.put("user:ana", "key", CONTENT, 0, DATA[:1000])
    fetch(peer, server.url("plain/data"))
    assert server.asked == ["/plain/data bytes=1000-"]


def test_a_connection_that_breaks_is_opened_again_where_it_ended(
    tmp_path: Path, server: WebServer
) -> None:
    peer = service(tmp_path)
    fetch(peer, server.url("cut/data"))
    asked = ["/cut/data", *(f"/cut/data bytes={n}00000-" for n in (3, 6, 9))]
    assert server.asked == asked
    assert peer.cache.path(DIGEST) is not None


def test_a_web_server_that_sends_only_all_of_it_does_not_send_it_twice(
    tmp_path: Path, server: WebServer
) -> None:
    peer, url = service(tmp_path), server.url("whole/data")
    peer.put("user:ana", "key", CONTENT, 0, DATA[:1000])
    with pytest.raises(Refused) as raised:
        fetch(peer, url)
    assert "the web server cannot go on behind 1000 bytes" in raised.value.cause
    assert peer.cache.held(DIGEST, "user:ana") == 1000
    assert fetch(service(tmp_path / "other"), url) == url


def test_a_slow_web_server_that_sends_only_all_of_it_is_asked_once_more_and_the_rest_is_sent(
    tmp_path: Path, server: WebServer
) -> None:
    peer, file = service(tmp_path, clock=lambda: 100 * time.monotonic()), tmp_path / "data"
    file.write_bytes(DATA)
    content = replace(StagedContent.of(file), url=server.url("slowly/data"))
    receiver = Receiver("h1", "h1:7700", "key", lambda: nullcontext(peer))
    assert not deliver(content, [receiver], caller="user:ana")
    assert peer.cache.path(DIGEST) is not None
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nothing", "the web server answers 404 Not Found"),
        ("other/data", "has another SHA-256, so nothing of it was kept"),
        ("to/file/etc/passwd", "the web server answers 302"),
        ("to/ftp/ftp.example.org/data", "the web server answers 302 it leads from http to ftp"),
        ("silent/data", "the web server has said nothing for 0.3 s"),
        ("trickling/data", "it has sent no whole piece within 0.5 s"),
        ("slow/data", "within 0.5 s"),  # it never came to an end of its headers, nor to a piece
        ("", "is not the address of a file"),
    ],
)
def test_a_web_server_that_does_not_have_it_is_told_of_and_the_next_source_is_tried(
    tmp_path: Path, server: WebServer, path: str, why: str
) -> None:
    opened = partial(open_web_source, silence=0.3, timeout=0.5)
    peer, url = service(tmp_path, opened=opened), server.url(path)
    with pytest.raises(Refused) as raised:
        fetch(peer, url)
    assert url in raised.value.cause
    assert why in raised.value.cause
    assert peer.cache.held(DIGEST) == 0
    assert fetch(peer, url, server.url("plain/data")) == server.url("plain/data")


@pytest.mark.parametrize("url", ["http://no-such-host.invalid/data", "http://127.0.0.1:1/data"])
def test_a_web_server_that_is_not_there_is_told_of(url: str) -> None:
    with pytest.raises(PeerError) as raised, open_web_source(url) as source:
        source.read(0, 10)
    assert raised.value.what == "the web server cannot be reached, or does not answer as one"
    assert raised.value.place == url
    assert raised.value.cause


def test_an_owner_can_forbid_it(tmp_path: Path, server: WebServer) -> None:
    with pytest.raises(Refused) as raised:
        fetch(service(tmp_path, opened=None), server.url("plain/data"))
    assert "its owner does not let it fetch from web servers" in raised.value.cause
    assert not server.asked


@pytest.mark.parametrize("how", ["plain", "unsaid", "cut"])
def test_a_submitter_reads_all_of_it(server: WebServer, how: str) -> None:
    file = io.BytesIO()
    download(WebAddress.parse(f"{server.url(how)}/data#sha256={DIGEST}"), file)
    assert file.getvalue() == DATA


@pytest.mark.parametrize(
    ("how", "why", "requests"),
    [
        ("cut-whole", "the web server cannot go on behind 300000 bytes", 2),
        ("tagged", "the web server cannot go on behind 600000 bytes, or has another file now", 3),
        ("growing", "the file had 1024000 bytes before, and has 1024001 now", 2),
    ],
)
def test_a_submitter_does_not_join_what_are_no_parts_of_one_file(
    server: WebServer, how: str, why: str, requests: int
) -> None:
    with pytest.raises(PeerError, match=why):
        download(WebAddress.parse(server.url(f"{how}/data")), io.BytesIO())
    assert len(server.asked) == requests


@pytest.mark.parametrize(
    ("how", "requests"), [("cut-once", 3), ("chunked", 3), ("reset", 4), ("cut-whole", 4)]
)
def test_a_submitter_that_knows_the_digest_starts_over_once_where_a_connection_has_broken(
    server: WebServer, how: str, requests: int
) -> None:
    address = WebAddress.parse(f"{server.url(how)}/data#sha256={DIGEST}")
    file = io.BytesIO()
    if how == "cut-whole":
        with pytest.raises(PeerError, match="the web server cannot go on behind 300000 bytes"):
            download(address, file)
    else:
        download(address, file)
        assert file.getvalue() == DATA
    assert len(server.asked) == requests


def test_a_submitter_is_told_at_once_what_is_wrong(server: WebServer) -> None:
    def said(path: str, most: int = MOST_BYTES) -> str:
        with pytest.raises(PeerError) as raised:
            download(WebAddress.parse(server.url(path)), io.BytesIO(), most)
        assert raised.value.place == server.url(path)
        return raised.value.what

    assert said("less/data") == "the web server cannot be reached, or does not answer as one"
    assert said("nothing/data") == "the web server answers 404 Not Found"
    assert said(f"unsaid/data#sha256={'0' * 64}").endswith(DIGEST)
    for how in ("plain", "unsaid"):
        assert said(f"{how}/data", len(DATA) - 1).startswith("the file is larger than")


@pytest.mark.parametrize("how", ["plain", "small"])
def test_a_submitter_without_room_is_told_where(
    server: WebServer, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    address = WebAddress.parse(server.url(f"{how}/data"))
    monkeypatch.setattr(tempfile, "TemporaryFile", partial(open, "/dev/full", "r+b"))
    with pytest.raises(PeerError, match="cannot be kept here") as raised:
        WebContents([address])
    assert raised.value.place == tempfile.gettempdir()
    assert raised.value.cause == "No space left on device"
    assert "TMPDIR" in raised.value.cure
