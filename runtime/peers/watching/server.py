"""Shows a page to a browser of this machine, and to nobody without the token in its address."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
LOOPBACK = "127.0.0.1"


class PageServer:
    """A server at a loopback port; `page` makes the page anew for each request.

    Requests without the token, or under another host name than this machine's, are not answered
    with more than 404: a page of somebody else cannot make the browser read this one.
    """

    def __init__(self, page: Callable[[], str], port: int = 0) -> None:
        self._page = page
        self._token = secrets.token_urlsafe(24)
        handler = type("Handler", (_Handler,), {"owner": self})
        self._server = _Server((LOOPBACK, port), handler)
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]

    @property
    def url(self) -> str:
        """Where the page is; whoever has it may look."""
        return f"http://{LOOPBACK}:{self.port}/{self._token}/"

    def serve(self) -> None:
        """Answer requests until `close`."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """Stop answering; call it from another thread than `serve`."""
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> PageServer:
        """Return the server."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the port, once `serve` has returned."""
        self._server.server_close()

    def answer(self, path: str, host: str) -> tuple[HTTPStatus, str]:
        """Return the status and the page for a request."""
        names = {f"{LOOPBACK}:{self.port}", f"localhost:{self.port}"}
        is_known = secrets.compare_digest(path.encode(), f"/{self._token}/".encode())
        if host not in names or not is_known:
            return HTTPStatus.NOT_FOUND, "not found"
        return HTTPStatus.OK, self._page()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a browser that has dropped its request; tell of all other errors."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    owner: PageServer
    timeout = 10
    server_version, sys_version = "gcm", ""

    def do_GET(self) -> None:
        """Answer."""
        status, text = self.owner.answer(self.path, self.headers.get("Host", ""))
        content = text.encode()
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Write no log: an address has the token in it."""
