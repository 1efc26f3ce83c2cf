"""The port of services: the order of requests, and where their bodies come in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from runtime.services import Effect, Resume, SendRequest, ServicePort, several
from runtime.services.port import OUT_OF_TURN, SEVERAL

KEY = b"a window"
HOLD, OPEN, WRONG, NO_ROOM = b"H", b"O", b"W", b"N"


class Body:
    """A body that comes in when the test says so."""

    def __init__(self, source: int, data: bytes, *, late: bool = False) -> None:
        self.source, self.size, self._data, self._is_late = source, len(data), data, late
        self.payload: Any = None
        self.owner: Any = None
        self.done = False

    def give(self, buffer: memoryview, /) -> None:
        self.payload = buffer
        if not self._is_late:
            self.come()

    def take(self) -> None:
        self.give(memoryview(bytearray(self.size)))

    def come(self) -> None:
        assert self.payload is not None, "nobody has asked for it"
        self.payload[:] = self._data
        self.done = True
        if self.owner is not None:
            self.owner.landed()


class Log:
    """A service that writes down what it serves; `HOLD` holds its source up until `OPEN` comes."""

    def __init__(self, memory: bytearray | None = None) -> None:
        self.served: list[tuple[int, bytes, bytes | None]] = []
        self.held: set[int] = set()
        self.is_broken_by: dict[int, str] = {}
        self._memory = memory

    def admits(self, source: int) -> bool:
        return source not in self.held

    def may_wait(self, header: bytes) -> bool:
        return header == HOLD

    def room(self, source: int, header: bytes, size: int) -> memoryview | None:
        if header == NO_ROOM:
            raise ValueError("no request")
        return None if self._memory is None else memoryview(self._memory)[:size]

    def handle(self, source: int, header: bytes, body: memoryview | None) -> Iterable[Effect]:
        if header == WRONG:
            raise ValueError("no request")
        self.served.append((source, header, None if body is None else bytes(body)))
        if header == HOLD:
            self.held.add(source)
        if header == OPEN:
            freed, self.held = sorted(self.held), set()
            return [*map(Resume, freed), SendRequest(source, b"opened")]
        return ()

    def lost(self, source: int) -> Iterable[Effect]:
        self.served.append((source, b"lost", None))
        return ()

    def broken(self, source: int, fault: Exception) -> Iterable[Effect]:
        self.is_broken_by[source] = str(fault)
        return [SendRequest(source, b"refused")]


def port_with(service: Log) -> tuple[ServicePort, list[SendRequest]]:
    sent: list[SendRequest] = []
    port = ServicePort(lambda _, what: sent.append(what))
    port.open(KEY, service)
    return port, sent


def test_requests_of_a_source_are_served_in_their_order_though_a_body_is_late() -> None:
    log = Log()
    port, _ = port_with(log)
    late = Body(1, b"first", late=True)
    port.arrived(KEY, b"a", late)
    port.arrived(KEY, b"b", Body(1, b"second"))
    port.arrived(KEY, b"c", Body(2, b"another source"))
    assert log.served == [(2, b"c", b"another source")]
    late.come()
    assert log.served[1:] == [(1, b"a", b"first"), (1, b"b", b"second")]


def test_who_is_held_up_goes_on_when_another_source_lets_it() -> None:
    log = Log()
    port, sent = port_with(log)
    for header in (HOLD, b"a", b"b"):
        port.arrived(KEY, header, Body(1, b""))
    assert [one[1] for one in log.served] == [HOLD]
    port.arrived(KEY, OPEN, Body(2, b""))
    assert [one[1] for one in log.served] == [HOLD, OPEN, b"a", b"b"]
    assert sent == [SendRequest(2, b"opened")]


def test_an_answer_passes_by_requests_that_wait() -> None:
    log = Log()
    port, _ = port_with(log)
    answer = bytes((OUT_OF_TURN | 1,))
    port.arrived(KEY, HOLD, Body(1, b""))
    port.arrived(KEY, b"a", Body(1, b""))
    port.arrived(KEY, answer, Body(1, b"42"))
    assert log.served[-1] == (1, answer, b"42")


def test_bodies_come_in_where_they_belong_before_their_turn_but_not_behind_what_may_wait() -> None:
    memory = bytearray(8)
    port, _ = port_with(Log(memory))
    first, second = Body(1, b"12345678", late=True), Body(1, b"abcd", late=True)
    port.arrived(KEY, b"a", first)
    port.arrived(KEY, b"b", second)
    second.come()
    assert memory[:4] == b"abcd"
    behind = Body(1, b"xxxx")
    port.arrived(KEY, HOLD, Body(1, b""))
    port.arrived(KEY, b"c", behind)
    assert behind.payload is None, "it may have to wait, so nothing may change the memory"


def test_a_body_that_went_into_its_room_is_not_handed_over_again() -> None:
    memory = bytearray(4)
    log = Log(memory)
    port, _ = port_with(log)
    port.arrived(KEY, b"a", Body(1, b"abcd"))
    assert log.served == [(1, b"a", None)]
    assert memory == b"abcd"


def test_a_lost_process_is_forgotten_and_the_service_hears_of_it() -> None:
    log = Log()
    port, _ = port_with(log)
    late = Body(1, b"never", late=True)
    port.arrived(KEY, b"a", late)
    port.lost(1)
    assert log.served == [(1, b"lost", None)]


def test_requests_to_a_closed_key_are_dropped() -> None:
    log = Log()
    port, _ = port_with(log)
    port.close(KEY)
    body = Body(1, b"data")
    port.arrived(KEY, b"a", body)
    assert body.done
    assert log.served == []


def test_what_waits_at_a_key_that_is_closed_comes_in_for_nobody() -> None:
    log = Log()
    port, _ = port_with(log)
    late, held = Body(1, b"late", late=True), Body(2, b"data")
    port.arrived(KEY, b"a", late)
    port.arrived(KEY, HOLD, Body(2, b""))
    port.arrived(KEY, b"b", held)
    port.close(KEY)
    late.come()
    assert held.done
    assert [one[1] for one in log.served] == [HOLD]


def test_several_requests_in_one_are_served_one_after_the_other_and_may_hold_up_the_rest() -> None:
    log = Log()
    port, _ = port_with(log)
    body = several([(b"a", b"first"), (HOLD, b""), (b"b", b"second")])
    port.arrived(KEY, SEVERAL, Body(1, body))
    port.arrived(KEY, b"c", Body(1, b""))
    assert log.served == [(1, b"a", b"first"), (1, HOLD, b"")]
    port.arrived(KEY, OPEN, Body(2, b""))
    assert [one[1:] for one in log.served[3:]] == [(b"b", b"second"), (b"c", b"")]


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (WRONG, b""),
        (NO_ROOM, b"body"),
        (SEVERAL, b"\1\0"),
        (SEVERAL, several([(b"a", b"whole")])[:-1]),
    ],
)
def test_what_cannot_be_read_ends_the_requests_of_its_source_to_one_service_and_no_more(
    header: bytes, body: bytes
) -> None:
    log, other = Log(), Log()
    port, sent = port_with(log)
    port.open(b"another!", other)
    wrong, later = Body(1, body), Body(1, b"later")
    port.arrived(KEY, header, wrong)
    port.arrived(KEY, b"b", later)
    port.arrived(KEY, b"c", Body(2, b""))
    port.arrived(b"another!", b"d", Body(1, b""))
    assert list(log.is_broken_by) == [1]
    assert sent == [SendRequest(1, b"refused")]
    assert wrong.done
    assert later.done
    assert [one[1] for one in log.served] == [b"c"]
    assert [one[1] for one in other.served] == [b"d"]
