"""The waits for requests that a line of a program calls, read from its source."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from runtime.mpi.surface.line_calls import wait_in_line

SEEN = {
    "in one line": "comm.Irecv(1).Wait()",
    "of one of two results": "comm.Irecv(1)[1].Wait()",
    "over lines": "comm.Irecv(\n    1,\n    'ä',\n).Wait()",
    "over lines, with a call among the arguments": "comm.Irecv(\n    int('1'),\n).Wait()",
    "of a variable": "request = comm.Irecv(\n    1,\n)\nrequest.Wait()",
}


class Request:
    """Tells which wait its caller is in."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str] | None] = []

    def Irecv(self, *_: object) -> Request:
        return self

    def __getitem__(self, _: int) -> Request:
        return self

    def Wait(self) -> None:
        self.seen.append(wait_in_line(sys._getframe(1)))


@pytest.mark.parametrize("name", SEEN)
def test_a_wait_for_a_request_is_known_by_its_line(name: str, tmp_path: Path) -> None:
    file, comm = tmp_path / "program.py", Request()
    file.write_text(SEEN[name], encoding="utf-8")
    exec(compile(SEEN[name], file, "exec"), {"comm": comm})
    assert comm.seen == [("Wait", "Irecv")]


def test_a_wait_without_source_is_not_known() -> None:
    comm = Request()
    exec("comm.Irecv(1).Wait()", {"comm": comm})
    assert comm.seen == [None]
