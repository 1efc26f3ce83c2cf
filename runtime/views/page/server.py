"""Serves a page that lives to browsers of this machine, and its data to nobody without the token.

The address that is printed has the token behind its `#`, which browsers send to nobody. The page
takes it out of the address and keeps it for its own origin, which a page from another port, another
host name or another user's server is not. With it, it asks for the data: a stream of server-sent
events, each with the parts of the document that have changed. A browser that reads slowly gets
fewer of them; what is shown waits for no browser.
"""

from __future__ import annotations

import json
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gcm.records import dataclass
from runtime.views.page import living_page, policy

LOOPBACK = "127.0.0.1"

PERIOD = 0.5
"""Seconds between two events of one browser at least."""

QUIET = 5.0
"""Seconds without an event after which a line is sent, so that a closed browser is noticed."""

PATIENCE = 10.0
"""Seconds a connection has to show the token, or to be answered."""

_LIMIT = 64
"""So many browsers are served at a time, and so many connections that have not shown the token."""


@dataclass(frozen=True, slots=True)
class PageState:
    """What is to be shown now: the document, new lines of output, and whether that was the last."""

    document: Mapping[str, object]
    output: Sequence[Mapping[str, object]] = ()
    last_line: int = 0
    is_over: bool = False


Look = Callable[[int], PageState]
"""Returns the present state, with lines after a number; the server calls it from its threads."""


class PageServer:
    """A server at a loopback port; whoever has its `url` may look. Close it at the end."""

    def __init__(
        self,
        title: str,
        look: Look,
        port: int = 0,
        period: float = PERIOD,
        patience: float = PATIENCE,
    ) -> None:
        """Open the port; raises OSError if it is taken. `patience` is for who shows no token."""
        self.token = secrets.token_urlsafe(24)
        self.look, self.period = look, period
        self.page = living_page(title).encode()
        self.closing = threading.Event()
        self.streams = threading.Semaphore(_LIMIT)
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Server((LOOPBACK, port), handler, patience)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.2,), name="page", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the page is, with the token."""
        return f"http://{LOOPBACK}:{self.port}/#{self.token}"

    def keep(self, connection: socket.socket) -> None:
        """Let a connection stay that has shown the token."""
        self._server.is_known(connection)

    def close(self) -> None:
        """Send what is new for the last time, and stop serving."""
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def status(self, path: str, headers: Mapping[str, str]) -> HTTPStatus:
        """Return whether a request is answered: only to the own page, with the token."""
        here = {f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"}
        origin = headers.get("Origin")
        if headers.get("Host", "") not in here or (
            origin is not None and origin.removeprefix("http://") not in here
        ):
            return HTTPStatus.FORBIDDEN
        if path == "/":
            return HTTPStatus.OK
        if path != "/events":
            return HTTPStatus.NOT_FOUND
        shown = headers.get("Authorization", "")
        is_known = secrets.compare_digest(shown.encode(), f"Bearer {self.token}".encode())
        return HTTPStatus.OK if is_known else HTTPStatus.FORBIDDEN


class _Server(ThreadingHTTPServer):
    """Serves each connection in a thread; strangers go after a while, or if they are too many."""

    request_queue_size = _LIMIT

    def __init__(
        self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], patience: float
    ) -> None:
        super().__init__(address, handler)
        self._patience = patience
        self._unknown: dict[socket.socket, float] = {}  # since when, the oldest first
        self._lock = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._unknown[request] = time.monotonic()
            if len(self._unknown) > _LIMIT:
                self._drop_oldest()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """Drop whoever has sent a few bytes now and then for too long; called again and again."""
        latest = time.monotonic() - self._patience
        with self._lock:
            while self._unknown and next(iter(self._unknown.values())) < latest:
                self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest = next(iter(self._unknown))
        del self._unknown[oldest]
        with suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)  # its thread ends

    def shutdown_request(self, request: Any) -> None:
        self.is_known(request)
        super().shutdown_request(request)

    def is_known(self, request: socket.socket) -> None:
        """Keep a connection, whoever else comes: it has shown the token, or has ended."""
        with self._lock:
            self._unknown.pop(request, None)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a browser that has dropped its request; tell of all other errors."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    owner: PageServer
    timeout = PATIENCE
    server_version, sys_version = "gcm", ""

    def do_GET(self) -> None:
        """Answer."""
        owner = self.owner
        status = owner.status(self.path, self.headers)  # type: ignore[arg-type]
        if status is not HTTPStatus.OK:
            self._begin(status, "text/plain; charset=utf-8")
            self.wfile.write(b"This is only for the page that the command has printed.\n")
        elif self.path == "/":
            self._begin(status, "text/html; charset=utf-8")
            self.wfile.write(owner.page)
        elif owner.streams.acquire(blocking=False):
            owner.keep(self.connection)
            try:
                self._begin(status, "text/event-stream; charset=utf-8")
                self._stream()
            finally:
                owner.streams.release()
        else:
            self._begin(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain")

    def _begin(self, status: HTTPStatus, kind: str) -> None:
        self.close_connection = True
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Security-Policy", f"{policy()}; frame-ancestors 'none'"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
        ):
            self.send_header(name, value)
        self.end_headers()

    def _stream(self) -> None:
        owner, sent, line, quiet = self.owner, dict[str, str](), 0, 0.0
        while True:
            is_closing = owner.closing.is_set()
            state = owner.look(line)
            texts = {one: _text(value) for one, value in state.document.items()}
            changed = {one: text for one, text in texts.items() if sent.get(one) != text}
            if changed or state.output:
                parts = ",".join(f"{json.dumps(one)}:{text}" for one, text in changed.items())
                news = f'{{"document":{{{parts}}},"output":{_text(state.output)}}}'
                self._send(f"data: {news}\n\n")
                sent, line, quiet = texts, state.last_line, 0.0
            elif quiet >= QUIET:
                self._send(":\n\n")
                quiet = 0.0
            if state.is_over or is_closing:
                self._send(f"event: {'over' if state.is_over else 'closed'}\ndata: {{}}\n\n")
                return
            quiet += owner.period
            owner.closing.wait(owner.period)

    def _send(self, text: str) -> None:
        self.wfile.write(text.encode(errors="replace"))
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Write no log."""


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
