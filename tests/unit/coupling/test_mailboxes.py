from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from runtime.coupling.directory import CodeDirectory
from runtime.coupling.errors import CodeEnded, NotCoupled
from runtime.coupling.mailbox import CouplingMailbox
from runtime.coupling.peers import RESTART_SECONDS, Order, Peers
from runtime.machine.calls import CallRefused
from runtime.machine.paths import COUPLING
from runtime.matching import ANY
from runtime.matching.window import WINDOW
from runtime.transport.errors import NotSendable
from runtime.transport.frames import MOST_PARTS
from runtime.transport.messages import OUT_OF_BAND, PLAIN
from tests.unit.coupling.joined_mailboxes import NAMES, JoinedMailboxes, later


def test_a_message_comes_with_its_code_rank_and_tag() -> None:
    ranks = JoinedMailboxes()
    ranks["1:0:0"].send({"x": np.arange(4)}, "a", 0, 7)
    assert ranks["0:0:0"].has("b", 1, 7)
    assert not ranks["0:0:0"].has("b", 0)
    message = ranks["0:0:0"].receive(ANY)
    assert (message.code, message.rank, message.tag) == ("b", 1, 7)
    assert message.value["x"].tolist() == [0, 1, 2, 3]
    assert repr(message).endswith("code='b', rank=1, tag=7)")


def test_a_wait_ends_when_the_message_comes() -> None:
    ranks = JoinedMailboxes()
    waiting = later(lambda: ranks["0:0:0"].receive("b", 1, 3).value)
    ranks["0:1:0"].send("not this one", "a", 0, 3)
    ranks["1:0:0"].send("this one", "a", 0, 3)
    assert waiting.result(5) == "this one"


def test_a_sender_waits_until_the_receiver_has_taken_enough() -> None:
    ranks = JoinedMailboxes()
    piece = bytes(3 << 20)
    for _ in range(3):
        ranks["0:0:0"].send(piece, "b", 0, 0)
    with pytest.raises(
        TimeoutError, match="a sends a message with tag 1 to rank 0 of b: timed out"
    ):
        ranks["0:0:0"].send(piece, "b", 0, 1, timeout=0)
    ranks["0:0:0"].send(piece, "b", 1, 1, timeout=0)  # to another rank there is room
    waiting = later(lambda: ranks["0:0:0"].send("late", "b", 0, 2))
    assert ranks["0:1:0"].receive("a").value == piece
    assert waiting.result(5) is None
    assert [ranks["0:1:0"].receive("a").tag for _ in range(3)] == [0, 0, 2]


def test_who_waits_for_a_code_that_ends_is_told_which_and_why() -> None:
    ranks = JoinedMailboxes()
    ranks["0:1:0"].send("last words", "a", 0, 0)
    waiting = later(lambda: [ranks["0:0:0"].receive("b").value for _ in range(2)])
    ranks.registry.rank_ended("b", 0, "exit code 1")
    ranks.registry.ended("b", "exit code 1")
    with pytest.raises(CodeEnded, match="b has ended while a waits for a message") as caught:
        waiting.result(5)
    assert (caught.value.code, caught.value.rank, caught.value.cause) == ("b", None, "exit code 1")
    with pytest.raises(CodeEnded, match="b has ended while a sends a message with tag 4"):
        ranks["0:0:0"].send(1, "b", 0, 4)
    with pytest.raises(CodeEnded, match=r"all other codes \(b\) have ended while a waits"):
        ranks["0:0:0"].receive(ANY)


def test_the_end_of_one_rank_is_told_to_those_who_deal_with_it() -> None:
    ranks = JoinedMailboxes()
    waiting = later(lambda: ranks["0:0:0"].receive("b", 1))
    while (COUPLING, "watch") not in ranks.log:
        assert not waiting.done()
    ranks.registry.rank_ended("b", 1, "killed")
    with pytest.raises(CodeEnded, match="rank 1 of b has ended while a waits") as caught:
        waiting.result(5)
    assert caught.value.rank == 1
    ranks["0:1:0"].send("the other one lives", "a", 0, 0)
    assert ranks["0:0:0"].receive("b", 0).value == "the other one lives"


def test_who_asks_after_the_end_of_a_rank_is_told_too() -> None:
    ranks = JoinedMailboxes()
    ranks.registry.rank_ended("b", 1, "killed")
    with pytest.raises(CodeEnded, match="rank 1 of b has ended"):
        ranks["0:0:0"].receive("b", 1, timeout=5)


def test_a_code_that_is_started_again_is_reached_again() -> None:
    ranks = JoinedMailboxes()
    ranks["0:0:0"].send(bytes(9 << 20), "b", 0, 0)
    ranks.registry.ended("b", "killed")
    with pytest.raises(CodeEnded):
        ranks["0:0:0"].receive("b")
    ranks.registry.began("b", 2)
    fresh = ranks.join("0:1:0")
    ranks["0:0:0"].send("there is room again", "b", 0, 0, timeout=0)
    assert fresh.receive("a").value == "there is room again"


def test_a_code_that_ended_before_may_be_started_again() -> None:
    ranks = JoinedMailboxes(running=("b",))
    ranks.registry.ended("b", "done")
    ranks.registry.began("a", 1)
    first = ranks.join("0:0:0")
    with pytest.raises(TimeoutError, match="a waits for a message with any tag from any rank of b"):
        first.receive("b", timeout=0)
    with pytest.raises(TimeoutError, match="a sends a message"):
        first.send(1, "b", 0, 0, timeout=0)
    waiting = later(lambda: first.send("now", "b", 0, 0))
    ranks.registry.began("b", 2)
    assert waiting.result(5) is None
    ranks.registry.ended("b", "done again")
    with pytest.raises(CodeEnded):
        first.receive("b")


@pytest.mark.parametrize(
    ("wait", "what"),
    [
        (lambda box: box.send(1, "b", 0, 0), "was not started again within 30 s while a sends"),
        (lambda box: box.receive("b", 1), "was not started again within 30 s while a waits"),
        (lambda box: box.receive(ANY), "all other codes (b) have ended while a waits"),
    ],
)
def test_a_code_that_ended_before_and_stays_so_is_waited_for_a_while_only(
    wait: Callable[[CouplingMailbox], Any], what: str
) -> None:
    ranks = JoinedMailboxes(running=("b",))
    ranks.registry.ended("b", "done")
    ranks.registry.began("a", 1)
    first = ranks.join("0:0:0")
    times = iter((0.0, RESTART_SECONDS - 0.001, RESTART_SECONDS))
    first._clock = lambda: next(times)
    with pytest.raises(CodeEnded, match=re.escape(what)) as caught:
        wait(first)
    assert caught.value.cause == "done"


def test_who_waits_for_any_code_sleeps_when_one_of_them_was_not_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranks = JoinedMailboxes(driver=True, running=("b",))
    ranks.registry.ended("b", "done")
    ranks.registry.began("a", 1)
    first = ranks.join("0:0:0")
    times = iter((0.0, RESTART_SECONDS + 1, RESTART_SECONDS + 2))
    first._clock = lambda: next(times)
    pauses = list[float | None]()

    def wait(pause: float | None) -> None:
        pauses.append(pause)
        first._lost = "it has gone"

    monkeypatch.setattr(first._changed, "wait", wait)
    with pytest.raises(NotCoupled):
        first.receive(ANY)
    assert [one is None or one > 0 for one in pauses] == [True], pauses


def test_the_driver_takes_part_like_a_code_of_one_rank() -> None:
    ranks = JoinedMailboxes(driver=True)
    ranks["0:1:0"].send("hello", "(driver)", 0, 5)
    assert ranks.registry.driver.receive("b").value == "hello"
    ranks.registry.driver.send("and back", "b", 0, 6)
    assert ranks["0:1:0"].receive("(driver)").value == "and back"
    ranks.registry.ended("b", "done")
    with pytest.raises(CodeEnded, match=r"b has ended while \(driver\) waits"):
        ranks.registry.driver.receive("b")
    with pytest.raises(NotCoupled, match="drives"):
        _ = JoinedMailboxes().registry.driver


def test_the_driver_hears_last_what_all_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = JoinedMailboxes(driver=True)
    ranks.log.clear()
    driver = ranks.registry.driver
    for operation in ("began", "ended"):
        heard = partial(lambda operation, *_: ranks.log.append(("", operation)), operation)
        monkeypatch.setattr(driver, operation, heard)
    ranks.registry.ended("a", "it is over")
    ranks.registry.began("a", 2)
    others = [("/ranks/0:1:0", "ended"), ("/ranks/1:0:0", "ended")]
    assert ranks.log[:3] == [*others, ("", "ended")]
    assert ranks.log[3:] == [(path, "began") for path in ("/ranks/0:1:0", "/ranks/1:0:0", "")]


def test_what_a_former_life_of_a_code_still_sends_is_not_received() -> None:
    ranks = JoinedMailboxes()
    frozen = ranks["0:1:0"]
    ranks.registry.ended("b", "taken for dead")
    ranks.registry.began("b", 2)
    fresh = ranks.join("0:1:0")
    frozen.send("out of the past", "a", 0, 0)
    fresh.send("of today", "a", 0, 0)
    assert ranks["0:0:0"].receive("b", 0).value == "of today"
    assert not ranks["0:0:0"].has("b")


def test_messages_are_received_in_their_order_whichever_route_they_have_taken() -> None:
    ranks = JoinedMailboxes()
    last = deliver(ranks, number=1, value="last")
    assert not ranks["0:0:0"].has("b", 0)
    first = deliver(ranks, number=0, value="first")
    heard = [ranks["0:0:0"].receive("b", 0) for _ in (first, last)]
    assert [(one.tag, one.value) for one in heard] == [(0, "first"), (1, "last")]


def test_a_rank_in_the_place_of_a_lost_one_is_received_from_its_first_message_on() -> None:
    ranks = JoinedMailboxes()
    for _ in range(3):
        ranks["0:1:0"].send("of the lost one", "a", 0, 0)
    ranks.join("0:1:0").send("of the new one", "a", 0, 0)
    values = [ranks["0:0:0"].receive("b", 0).value for _ in range(4)]
    assert values == ["of the lost one"] * 3 + ["of the new one"]


def test_what_was_meant_for_a_former_life_is_not_received() -> None:
    ranks = JoinedMailboxes()
    ranks.registry.ended("a", "done")
    ranks.registry.began("a", 2)
    ranks.join("0:0:0")
    deliver(ranks, number=0, value="of the past", to=1)
    ranks["0:1:0"].send("of today", "a", 0, 0)
    assert ranks["0:0:0"].receive("b", 0).value == "of today"
    assert not ranks["0:0:0"].has("b")


def deliver(ranks: JoinedMailboxes, number: int, value: str, to: int = 1) -> int:
    """Let a message of rank 0 of b arrive at a; its tag is its number."""
    return deliver_to(ranks["0:0:0"], "0:1:0", number, value, to)


def deliver_to(box: CouplingMailbox, member: str, number: int, value: str, to: int = 1) -> int:
    parts = [bytes(one) for one in PLAIN.dump(value)]
    box.deliver(member, 1, to, number, number, *parts)
    return number


@pytest.mark.parametrize("attack", ["in order", "with a gap", "of later lives"])
def test_of_a_rank_that_floods_no_more_is_kept_than_a_program_could_send(attack: str) -> None:
    box = JoinedMailboxes()["0:0:0"]
    (part,) = map(bytes, PLAIN.dump("x" * (1 << 20)))
    for number in range(40):
        incarnation = 1 + number if attack == "of later lives" else 1
        numbers = {"in order": number, "with a gap": number + 1}.get(attack, 0)
        box.deliver("0:1:0", incarnation, 1, numbers, 7, part)
    came = 0
    while box.has("b"):
        came += len(box.receive("b", 0, timeout=0).value) >> 20
    assert came == {"in order": 8, "with a gap": 0}.get(attack, 5)
    with pytest.raises(CodeEnded, match="more than fits before anything of it was received"):
        box.receive("b", 0)
    deliver_to(box, "1:0:0", 0, "another rank of that code")
    assert box.receive(ANY).value == "another rank of that code"
    box.began("b", 50)
    box.deliver("0:1:0", 50, 1, 0, 7, part)  # it was started again
    assert box.has("b", 0)


def restarted(ranks: JoinedMailboxes, incarnation: int) -> CouplingMailbox:
    """Let rank 0 of b be started again alone, and join."""
    ranks.registry.starts_again("b", 0)
    ranks.coupling.attach("0:1:0", incarnation, "", ("", ()))
    return ranks["0:1:0"]


def test_a_rank_that_was_started_again_alone_is_no_flood() -> None:
    ranks = JoinedMailboxes()
    sent = 0
    for incarnation in (2, 3, 4):
        for _ in range(6):
            ranks["0:1:0"].send("x" * (1 << 20), "a", 0, 0)
            sent += 1
        restarted(ranks, incarnation)
    ranks["0:1:0"].send("x" * (20 << 20), "a", 0, 0)
    sizes = [len(ranks["0:0:0"].receive(ANY).value) >> 20 for _ in range(sent + 1)]
    assert sizes == [1] * 18 + [20]


def test_a_rank_that_was_started_again_alone_is_reached_again_also_by_who_comes_later() -> None:
    ranks = JoinedMailboxes(running=("b",))
    ranks.registry.began("a", 1)
    box, again = ranks.join("0:0:0"), ranks["0:1:0"]
    for life in range(2, 10):
        box.send("lost", "b", 0, 0)
        stale = [bytes(one) for one in PLAIN.dump("to its predecessor")]
        ranks.registry.rank_ended("b", 0, "killed")
        with pytest.raises(CodeEnded, match="rank 0 of b has ended"):
            box.send("too early", "b", 0, 0)
        again = restarted(ranks, life)
        again.deliver("0:0:0", 1, life - 1, 1, 0, *stale)
        for number in range(3):
            box.send(number, "b", 0, 0)
            assert again.receive("a", timeout=0).value == number
            again.send(number, "a", 0, 0)
            assert box.receive("b", 0, timeout=0).value == number
    ranks.registry.ended("a", "done")
    ranks.registry.began("a", 2)
    ranks.join("0:0:0").send("of the next one", "b", 0, 0)
    assert again.receive("a", timeout=0).value == "of the next one"


def test_one_end_that_is_told_twice_makes_room_for_one_process() -> None:
    ranks = JoinedMailboxes()
    box = ranks["0:0:0"]
    ranks.coupling.watch("0:0:0", "b", 0)
    ranks.registry.rank_ended("b", 0, "killed")
    restarted(ranks, 2)
    box.rank_ended("b", 0, "its connection was lost")  # which it can do itself
    for number in range(40):
        deliver_to(box, "0:1:0", number, "x" * (1 << 20))
    came = 0
    while box.has("b", 0):
        came += len(box.receive("b", 0).value) >> 20
    assert came == 17


def test_what_is_dropped_of_a_lost_rank_makes_room_for_the_next_one() -> None:
    order = Order()
    for number in (0, 2, 3):
        assert order.admits(WINDOW // 2 - 1)
        order.arrived(number, "of the lost one", WINDOW // 2 - 1)
    order.received(WINDOW // 2 - 1)
    assert order.admits(1)
    assert order.arrived(0, "of the new one", 1) == ["of the new one"]
    assert [order.admits(WINDOW - 2), order.admits(1), order.admits(WINDOW)] == [True, True, False]


def test_a_code_of_many_lives_is_heard_by_one_that_knows_of_none() -> None:
    ranks = JoinedMailboxes(running=())
    for life in (1, 2, 3, 4):
        ranks.registry.began("b", life)
        ranks.registry.ended("b", "done")
    ranks.registry.began("a", 1)
    box = ranks.join("0:0:0")
    parts = [bytes(one) for one in PLAIN.dump("of the fifth life")]
    box.deliver("0:1:0", 5, 1, 0, 7, *parts)  # before the notice that it has begun
    assert box.receive("b", timeout=0).value == "of the fifth life"


def test_what_is_received_again_and_again_is_no_flood() -> None:
    box = JoinedMailboxes()["0:0:0"]
    for number in range(40):
        deliver_to(box, "0:1:0", number, "x" * (1 << 20))
        assert len(box.receive("b", 0, timeout=0).value) == 1 << 20


def test_a_rank_that_deals_with_another_is_told_where_it_listens_once_it_does() -> None:
    ranks = JoinedMailboxes()
    watch = partial(ranks.coupling.watch, "0:0:0", "b")
    watch(0)
    ranks.coupling.listens("0:1:0")
    ranks.coupling.listens("1:0:0")
    watch(1)
    assert ranks.told_where == [("/ranks/0:0:0", "0:1:0"), ("/ranks/0:0:0", "1:0:0")]
    ranks.registry.ended("b", "done")
    ranks.registry.began("b", 2)
    watch(1)  # of its new incarnation nobody has heard yet
    assert len(ranks.told_where) == 2


def test_nobody_asks_the_launcher_in_the_name_of_somebody_else() -> None:
    ranks = JoinedMailboxes()
    with pytest.raises(
        CallRefused, match="coupling.attach was called in the name of another member"
    ):
        ranks.registry.handle_call(
            "0:0:0", COUPLING, "coupling", "attach", ("0:1:0", 1, "", ("", ()))
        )


@pytest.mark.parametrize(
    ("operation", "args"),
    [
        ("attach", ("x", "", ("", ()))),
        ("attach", (1, None, ("", ()))),
        ("attach", (1, "", 5)),
        ("attach", (1, "", ("", (5,)))),
        ("watch", ("b", "x")),
        ("watch", (["b"], 0)),
    ],
)
def test_nonsense_of_a_rank_is_refused_before_others_hear_of_it(
    operation: str, args: tuple[Any, ...]
) -> None:
    ranks = JoinedMailboxes()
    ranks.log.clear()
    with pytest.raises(CallRefused):
        ranks.registry.handle_call("0:0:0", COUPLING, "coupling", operation, ("0:0:0", *args))
    assert not ranks.log


def test_nothing_is_sent_where_the_connection_is_lost() -> None:
    ranks = JoinedMailboxes()
    ranks["0:0:0"].lose("it has gone")
    with pytest.raises(NotCoupled, match="it has gone"):
        ranks["0:0:0"].send(1, "b", 0, 0)


def test_nobody_waits_when_the_connection_is_lost() -> None:
    ranks = JoinedMailboxes()
    waiting = later(lambda: ranks["0:0:0"].receive("b"))
    ranks["0:0:0"].lose("it has gone")
    with pytest.raises(NotCoupled, match="the connection was lost while a waits for a message"):
        waiting.result(5)


def test_a_value_that_cannot_travel_is_refused_before_anything_is_sent() -> None:
    ranks = JoinedMailboxes()
    with pytest.raises(NotSendable, match="cannot be sent to another process"):
        ranks["0:0:0"].send(threading.Lock(), "b", 0, 0)
    assert not ranks["0:1:0"].has(ANY)


class Fragile:
    def __reduce__(self) -> tuple[Any, ...]:
        return _explode, ()


def _explode() -> None:
    raise ImportError("no such module here")


def test_a_value_that_cannot_be_rebuilt_says_where_it_came_from() -> None:
    ranks = JoinedMailboxes()
    ranks["0:0:0"].send(Fragile(), "b", 0, 3)
    with pytest.raises(NotSendable, match="a message with tag 3 from rank 0 of a: cannot be rebu"):
        ranks["0:1:0"].receive("a")


def test_a_long_wait_says_what_it_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    peers = Peers(("a", 0), 1, CodeDirectory(NAMES), {"a": (1, None), "b": (1, None)})
    ranks = JoinedMailboxes()
    impatient = CouplingMailbox(
        peers, "0:0:0", ranks.coupling, ranks.mail_to("0:0:0"), report_after=0
    )
    said = threading.Event()

    def note(_: logging.LogRecord) -> bool:
        said.set()
        return True

    caplog.handler.addFilter(note)
    waiting = later(lambda: impatient.receive("b", 1, 3))
    assert said.wait(10)
    impatient.lose("it has gone")
    with pytest.raises(NotCoupled):
        waiting.result(10)
    assert caplog.messages == [
        "has waited for 0 s: a waits for a message with tag 3 from rank 1 of b"
    ]


def test_a_value_of_more_arrays_than_a_message_has_parts_is_sent_all_the_same() -> None:
    exchange = JoinedMailboxes()
    value = [np.zeros(OUT_OF_BAND, "u1") for _ in range(MOST_PARTS)]
    exchange["0:0:0"].send(value, "b", 0, 1)
    assert len(exchange["0:1:0"].receive("a", 0, 1).value) == len(value)
