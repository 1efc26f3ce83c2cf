"""Reading files of web servers, at peers and at the submitter."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException, HTTPResponse, IncompleteRead
from io import BufferedReader, RawIOBase
from socket import socket
from typing import IO, TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    AbstractHTTPHandler,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    Request,
    build_opener,
)

from runtime.peers.errors import PeerError
from runtime.web_address import WebAddress

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MOST_SILENCE = 10.0
"""How many seconds a web server may be silent."""

ANSWER_TIMEOUT = 20.0
"""How many seconds it takes at most until it answers: all its addresses, redirections, headers.

As long, at most, may a piece take, with what stands between pieces.
"""

MOST_BYTES = 4 << 30
"""No file is larger than that, which is what the caches of peers hold by default."""

MOST_REDIRECTIONS = 5
_PIECE = 1 << 20
_RANGE = re.compile(r"bytes (?P<first>\d+)-\d+/(?P<total>\d+|\*)", re.ASCII)


class _Redirections(HTTPRedirectHandler):
    """Follows to web servers only, and from an encrypted connection to none that is not."""

    max_redirections = MOST_REDIRECTIONS

    def redirect_request(  # noqa: PLR0917 - as it is called
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> Request | None:
        before, after = (urlsplit(one).scheme for one in (req.full_url, newurl))
        if after not in ("https", before):
            raise HTTPError(newurl, code, f"it leads from {before} to {after}", headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _TimedReader(RawIOBase):
    """Reads from a socket until some time: a socket has a timeout for each byte only."""

    def __init__(self, connected: socket, timeout: float) -> None:
        self._file = connected.makefile("rb", buffering=0)
        self._timeout = timeout
        self.start()

    def start(self) -> None:
        """Read for that time from now on."""
        self._until = time.monotonic() + self._timeout

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        """Read what has come; raises HTTPException behind the time."""
        if time.monotonic() > self._until:
            raise HTTPException(f"it has sent no whole piece within {self._timeout:g} s")
        return self._file.readinto(buffer)

    def close(self) -> None:
        """Let go of the socket."""
        self._file.close()
        super().close()


class _TimedResponse(HTTPResponse):
    """An answer of which headers, and each piece, have to come in time."""

    def __init__(self, timeout: float, sock: socket, *args: Any, **how: Any) -> None:
        super().__init__(sock, *args, **how)
        self.fp.close()
        self.reader = _TimedReader(sock, timeout)
        self.fp = BufferedReader(self.reader)


class _Timed(AbstractHTTPHandler):
    def __init__(self, timeout: float) -> None:
        super().__init__()
        self._timeout = timeout

    def do_open(self, http_class: Any, req: Request, **how: Any) -> HTTPResponse:
        """Let a connection have answers of that kind."""

        def connection(*args: Any, **more: Any) -> Any:
            made = http_class(*args, **more)
            made.response_class = partial(_TimedResponse, self._timeout)
            return made

        return super().do_open(connection, req, **how)


class _TimedHttp(_Timed, HTTPHandler):
    """Without encryption."""


class _TimedHttps(_Timed, HTTPSHandler):
    """With encryption."""


class CannotGoOn(PeerError):
    """A web server has only all of a file, or another one, and not the rest of what was read."""


class WebSource:
    """A file of a web server as a `ContentSource`; where it has got some, it goes on there.

    A web server that would send all of it again cannot do that: others have the content too.
    """

    def __init__(
        self, url: str, *, silence: float = MOST_SILENCE, timeout: float = ANSWER_TIMEOUT
    ) -> None:
        self._url = url
        self._silence, self._timeout = silence, timeout
        self._opener = build_opener(_Redirections, _TimedHttp(timeout), _TimedHttps(timeout))
        self._response: _TimedResponse | None = None
        self._offset = 0
        self._end: int | None = None  # where the file ends, if the web server says so
        self._version = ""  # what the web server calls it, if it does
        self._has_come = False

    @property
    def is_broken(self) -> bool:
        """Whether the connection has ended before all had come: the next `read` opens another."""
        return self._response is None

    def read(self, offset: int, most: int) -> bytes:
        """Return a piece, b"" at the end or where the connection has ended; raises PeerError."""
        with self._explaining():
            if self._response is None or offset != self._offset:
                self._open(offset)
            return self._take(most)

    def close(self) -> None:
        """Hang up."""
        if self._response is not None:
            self._response.close()
            self._response = None

    def _take(self, most: int) -> bytes:
        assert self._response is not None
        wanted = most if self._end is None else min(most, self._end - self._offset)
        self._response.reader.start()
        try:
            data = self._response.read1(wanted) if wanted else b""
            is_cut = not data and wanted > 0 and self._end is not None
        except (ConnectionError, IncompleteRead):
            data, is_cut = b"", True
        self._offset += len(data)
        if is_cut:
            if not self._has_come:
                size = "" if self._end is None else f" of {self._end}"
                raise ConnectionError(f"it hangs up after {self._offset}{size} bytes")
            self.close()
        self._has_come = True
        return data

    def _open(self, offset: int) -> None:
        self.close()
        headers = {"User-Agent": "gcm-peer", "Accept-Encoding": "identity"}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if self._version:
                headers["If-Range"] = self._version
        response = self._answer(Request(self._url, headers=headers))
        self._response, self._has_come, self._offset = response, False, offset
        end = None if response.length is None else offset + response.length
        if offset:
            end = self._end_of_the_rest(response, end)
        self._end = end
        tag = response.headers.get("ETag", "")
        is_exact = tag and not tag.startswith("W/")
        self._version = tag if is_exact else response.headers.get("Last-Modified", "")

    def _answer(self, asked: Request) -> _TimedResponse:
        """Return what a web server answers, in time.

        In a thread, since the timeout of a socket is one for each address and each byte of headers.
        """
        answer: Future[_TimedResponse] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._opener.open(asked, timeout=self._silence))
            except Exception as fault:  # whatever it is, who waits hears it
                answer.set_exception(fault)

        threading.Thread(target=ask, name="web server", daemon=True).start()
        if not wait([answer], self._timeout).done:
            answer.add_done_callback(_hang_up)
            raise ConnectionError(f"it has not answered within {self._timeout:g} s")
        return answer.result()

    def _end_of_the_rest(self, response: HTTPResponse, end: int | None) -> int | None:
        """Return where a file ends of which this is the rest; raises PeerError if it is not."""
        content_range = response.headers.get("Content-Range", "")
        found = _RANGE.fullmatch(content_range)
        if response.status != 206 or found is None or int(found["first"]) != self._offset:
            raise CannotGoOn(
                f"the web server cannot go on behind {self._offset} bytes, or has another file now",
                place=self._url,
                cause=f"It answers {response.status} {response.reason} {content_range}".rstrip(),
                cure="Start the run again",
            )
        end = end if found["total"] == "*" else int(found["total"])
        if None not in (self._end, end) and self._end != end:
            raise CannotGoOn(
                f"the file had {self._end} bytes before, and has {end} now",
                place=self._url,
                cure="Start the run again",
            )
        return end

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Say in words what is wrong with a web server."""
        try:
            yield
        except HTTPError as fault:
            fault.close()
            what = f"the web server answers {fault.code} {fault.reason}"
            raise PeerError(what, place=self._url) from None
        except TimeoutError:
            what = f"the web server has said nothing for {self._silence:g} s"
            raise PeerError(what, place=self._url) from None
        except (OSError, HTTPException, ValueError) as fault:
            why = fault.reason if isinstance(fault, URLError) else fault
            what = "the web server cannot be reached, or does not answer as one"
            raise PeerError(what, place=self._url, cause=str(why)) from None


def _hang_up(late: Future[_TimedResponse]) -> None:
    if late.exception() is None:
        late.result().close()


@contextmanager
def open_web_source(
    url: str, *, silence: float = MOST_SILENCE, timeout: float = ANSWER_TIMEOUT
) -> Iterator[WebSource]:
    """Open a file of a web server; raises PeerError for what is no address of one."""
    try:
        source = WebSource(WebAddress.parse(url).url, silence=silence, timeout=timeout)
    except ValueError as fault:
        raise PeerError(str(fault)) from None
    try:
        yield source
    finally:
        source.close()


def download(address: WebAddress, file: IO[bytes], most: int = MOST_BYTES) -> None:
    """Write to `file` what is at an address; raises PeerError, also for another SHA-256.

    Where a connection breaks and the web server cannot go on, it starts over once if the address
    has a SHA-256, which shows that all is of one file.
    """
    try:
        found = _copy(address, file, most)
    except CannotGoOn:
        if not address.digest:
            raise
        file.seek(0)
        file.truncate()
        found = _copy(address, file, most)
    if address.digest not in ("", found):
        raise PeerError(
            f"what the web server sends has the SHA-256 {found}",
            place=str(address),
            cure="Compare it with the one in the address: the file may be another one by now",
        )


def _copy(address: WebAddress, file: IO[bytes], most: int) -> str:
    """Write what is there to `file`, and return its SHA-256."""
    with open_web_source(address.url) as source:
        found, read = hashlib.sha256(), 0
        while (data := source.read(read, _PIECE)) or source.is_broken:
            read += len(data)
            if read > most:
                raise PeerError(
                    f"the file is larger than the {most >> 30} GiB that peers take",
                    place=address.url,
                    cure="Let the program fetch it itself",
                )
            found.update(data)
            file.write(data)
    file.flush()
    return found.hexdigest()
