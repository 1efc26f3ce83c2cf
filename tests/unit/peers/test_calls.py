"""Calls between peers: what is sent comes as it was, and what is no call is refused."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.peers.connections.calls import (
    ANSWER,
    CALL,
    REFUSAL,
    Call,
    answer_frame,
    call_frame,
    opened,
    refusal_frame,
)
from runtime.peers.connections.connection import Frames
from runtime.peers.connections.serving import Services
from runtime.peers.contracts import CALLERS, CONTRACTS, LabMembership, Launch
from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Principal, Reason
from runtime.transport.frames import Frame

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_data_comes_as_it_was_sent(value: Any) -> None:
    assert opened(answer_frame(1, value)) == value
    assert opened(call_frame(1, Call("s", "o", (value,)))).arguments == (value,)


def test_a_refusal_comes_with_its_reason_place_and_cure() -> None:
    told = Refused("no", reason=Reason.BUSY, place="host7", cause="why", cure="wait")
    heard = opened(refusal_frame(3, told))
    assert (str(heard), heard.reason) == (str(told), "busy")


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (CALL, []),
        (CALL, [b"{", b"[]"]),
        (CALL, [b"[" * 100_000, b"[]"]),
        (CALL, [b'["a","b"]']),
        (CALL, [b'["a","b"]', b"{}"]),
        (CALL, [b'["a","b"]', b"[" * 100_000]),
        (CALL, [b'["a","b"]', b'{"$bytes":7}']),
        (CALL, [b'["a","b"]', b'[{"$bytes":1},{"$bytes":1}]', b"large"]),
        (CALL, [b'["a","b"]', b"[NaN]"]),
        (CALL, [b'["a",1]', b"[]"]),
        (REFUSAL, [b'{"what":1,"reason":"","place":"","cause":"","cure":""}']),
        (REFUSAL, [b"[]"]),
        (9, [b"[]"]),
        (ANSWER, [b"\xff"]),
    ],
)
def test_what_is_neither_a_call_nor_an_answer_is_refused(kind: int, parts: list[bytes]) -> None:
    with pytest.raises(PeerError):
        opened(Frame(kind, 1, parts))


def test_only_plain_data_is_sent() -> None:
    with pytest.raises(TypeError, match="not plain data"):
        answer_frame(1, object())


class _Membership:
    def ping(self, caller: str) -> None: ...
    def alive(self, caller: str, row: list[Any]) -> dict[str, Any]:
        return {"row": row}

    def exchange(self, caller: str, news: dict[str, Any]) -> dict[str, Any]:
        return news

    def round_trips(self, caller: str, peers: list[Any]) -> dict[str, Any]:
        return {}

    def hosts(self, caller: str, most: int) -> dict[str, Any]:
        return {"most": most}

    def leave(self, caller: str) -> None: ...


HOST7 = Principal.parse("peer:host7")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (Call("membership", "exchange", ("peer:host7", {})), Reason.NOT_TRUSTED),
        (Call("membership", "ping", ("peer:host8",)), Reason.BAD_REQUEST),
        (Call("membership", "ping", ()), Reason.BAD_REQUEST),
        (Call("membership", "hosts", ("peer:host7", "many")), Reason.BAD_REQUEST),
        (Call("membership", "hosts", ("peer:host7", True)), Reason.BAD_REQUEST),
        (Call("membership", "__init__", ("peer:host7",)), Reason.BAD_REQUEST),
        (Call("launch", "launch", ("peer:host7",)), Reason.BAD_REQUEST),
    ],
)
def test_a_call_that_is_not_for_its_caller_is_refused(call: Call, reason: Reason) -> None:
    services = Services()
    services.serve(LabMembership, _Membership())
    with pytest.raises(Refused) as raised:
        services.carry_out(call, HOST7, "10.0.0.1")
    assert raised.value.reason == reason


def test_a_denied_address_gets_no_files_and_no_launch() -> None:
    class Launcher:
        def launch(self, caller: str, key: str, application: str, source: int, marker: list[str]
                   ) -> None:  # fmt: skip
            raise AssertionError

    services = Services(lambda host: host == "10.0.0.1")
    services.serve(LabMembership, _Membership())
    services.serve(Launch, Launcher())
    assert services.carry_out(Call("membership", "hosts", ("peer:host7", 3)), HOST7, "10.0.0.1")
    call = Call("launch", "launch", ("user:ana", "0" * 32, "app", 1, []))
    with pytest.raises(Refused) as raised:
        services.carry_out(call, Principal.parse("user:ana"), "10.0.0.1")
    assert raised.value.reason == Reason.DENIED


def test_every_operation_of_a_contract_says_for_whom_it_is() -> None:
    declared = {(contract, name) for contract in CONTRACTS for name in vars(contract)}
    assert {pair for pair in declared if not pair[1].startswith("_")} == set(CALLERS)


def test_a_call_is_json_with_bytes_behind_it() -> None:
    frame = call_frame(1, Call("staging", "put", ("user:ana", b"\0raw")))
    told = ["staging", "put"], ["user:ana", {"$bytes": 1}]
    assert tuple(json.loads(bytes(part)) for part in frame.parts[:2]) == told
    assert frame.parts[2] == b"\0raw"


def test_an_answer_that_drips_is_not_waited_for_longer_than_one_that_does_not_come() -> None:
    data = answer_frame(1, "x" * 10_000)
    drops = itertools.chain(data.head(), *data.parts)
    mine, other = socket.socketpair()
    over = threading.Event()

    def drip() -> None:
        while not over.wait(0.02):
            other.send(bytes([next(drops)]))

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        with pytest.raises(TimeoutError):
            Frames(mine).receive(time.monotonic() + 0.2)  # type: ignore[arg-type]
    finally:
        over.set()
        dripping.join()
        mine.close()
        other.close()
