"""Detectors on a reactor: they tell each other, and find out who has gone."""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from collections.abc import Callable

import pytest

from gcm.invocation import Invocation
from runtime.health import Declare, DetectorSettings, Effect, Expelled, Join, Ping, Send
from runtime.processes.heartbeats import HeartbeatLoop, heartbeat
from runtime.processes.member_host import check_sender
from runtime.processes.watch import WatchedGroups
from runtime.transport.messages import Target
from runtime.transport.reactor import Reactor

SETTINGS = DetectorSettings(period=0.02, max_hang=0.05)
FLAT = WatchedGroups((("launcher", "0:0", "1:0"),), SETTINGS)
HIERARCHY = WatchedGroups((("launcher", "0:0", "0:1"), ("launcher", "1:0")), SETTINGS)
LONG = 20.0


class Members:
    """The launcher and front-ends, whose messages are handed over in this process."""

    def __init__(self, reactor: Reactor, watch: WatchedGroups, late: str = "") -> None:
        self.silent: set[str] = set()
        self.spoken: set[tuple[str, str]] = set()
        self.found: list[tuple[str, Effect]] = []
        self.changed = threading.Condition()
        self.loops = {
            own: HeartbeatLoop(
                reactor,
                watch,
                own,
                send=self.sender(own),
                found=self.finder(own),
                received=lambda _: 0,
                decides=own == "launcher",
            )
            for own in watch.members
        }
        for own, loop in self.loops.items():
            if own != late:
                reactor.soon(loop.begin)

    def sender(self, own: str) -> Callable[[str, Invocation], None]:
        def send(to: str, call: Invocation) -> None:
            self.spoken.add((own, to))
            if not {own, to} & self.silent:
                self.loops[to].hear(*call.args)

        return send

    def finder(self, own: str) -> Callable[[Effect], None]:
        def found(effect: Effect) -> None:
            with self.changed:
                self.found.append((own, effect))
                self.changed.notify_all()

        return found

    def wait(self, kind: type[Effect], own: str) -> Effect:
        def known() -> list[Effect]:
            return [one for who, one in self.found if who == own and isinstance(one, kind)]

        with self.changed:
            assert self.changed.wait_for(lambda: bool(known()), LONG), self.found
            return known()[0]


@pytest.mark.parametrize("watch", [FLAT, HIERARCHY], ids=["flat", "hierarchy"])
@pytest.mark.parametrize("silent", ["0:0", "1:0"])
def test_a_member_that_falls_silent_is_declared_and_told_when_it_speaks_again(
    watch: WatchedGroups, silent: str
) -> None:
    others = {one for group in watch.of(silent) for one in group} - {silent}
    with Reactor("heartbeats") as reactor:
        members = Members(reactor, watch)
        members.silent.add(silent)
        for own in others:
            effect = members.wait(Declare, own)
            assert isinstance(effect, Declare)
            assert effect.member == silent
        members.silent.clear()
        members.wait(Expelled, silent)


def test_in_a_hierarchy_the_sites_say_nothing_to_each_other() -> None:
    with Reactor("heartbeats") as reactor:
        members = Members(reactor, HIERARCHY)
        members.silent.add("0:1")
        members.wait(Declare, "launcher")
    spoken = {frozenset(pair) for pair in members.spoken}
    assert frozenset({"0:0", "0:1"}) in spoken
    assert frozenset({"launcher", "1:0"}) in spoken
    assert not {frozenset({one, "1:0"}) for one in ("0:0", "0:1")} & spoken


def test_what_is_certain_is_passed_on_to_the_others() -> None:
    with Reactor("heartbeats") as reactor:
        three = Members(reactor, FLAT)
        three.silent.add("1:0")
        reactor.soon(lambda: three.loops["launcher"].gone("1:0", "exit code 1"))
        assert three.wait(Declare, "launcher") == Declare("1:0", 0, "exit code 1")
        effect = three.wait(Declare, "0:0")
        assert isinstance(effect, Declare)
        assert effect.member == "1:0"


def test_a_member_that_has_come_late_and_falls_silent_is_declared_again() -> None:
    with Reactor("heartbeats") as reactor:
        members = Members(reactor, FLAT, late="1:0")
        launcher, late = members.loops["launcher"], members.loops["1:0"]

        def come() -> None:
            late.begin(launcher.elapsed, launcher.expect("1:0"))

        members.silent.add("1:0")
        reactor.soon(lambda: launcher.gone("1:0", "it has not come yet"))
        members.wait(Declare, "0:0")
        members.silent.clear()
        reactor.soon(come)
        members.wait(Join, "0:0")
        members.silent.add("1:0")
        members.found.clear()
        effect = members.wait(Declare, "launcher")
        assert isinstance(effect, Declare)
        assert (effect.member, effect.incarnation) == ("1:0", 1)


def test_a_message_in_the_name_of_another_member_is_not_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Reactor("heartbeats") as reactor, caplog.at_level(logging.WARNING):
        loop = HeartbeatLoop(
            reactor, FLAT, "0:0",
            send=lambda *_: None, found=lambda _: None, received=lambda _: 0, decides=False,
        )  # fmt: skip
        loop.begin()
        loop.hear("launcher", "ping", ("1:0", 0, ""))
        loop.hear("launcher", "nonsense", ())
        loop.end()
    assert "in the name of 1:0" in caplog.text
    assert "is not understood" in caplog.text


def test_the_launcher_is_called_at_its_contract_and_front_ends_at_their_controller() -> None:
    calls = [heartbeat("0:0", Send(to, Ping("0:0", 0))) for to in ("launcher", "1:0")]
    assert [(call.component, call.interface, call.operation) for call in calls] == [
        ("/launcher", "heartbeats", "hear"),
        ("/grid/site1/cluster0/clustering", "health-controller", "hear"),
    ]


def test_a_member_whose_large_message_comes_is_not_accused_while_its_heartbeats_wait() -> None:
    came = itertools.count()
    with Reactor("heartbeats") as reactor:
        found: queue.Queue[Effect] = queue.Queue()
        loop = HeartbeatLoop(
            reactor, FLAT, "launcher",
            send=lambda *_: None, found=found.put,
            received=lambda one: next(came) if one == "0:0" else 0,
            decides=True,
        )  # fmt: skip
        reactor.soon(loop.begin)
        declared = found.get(timeout=LONG)
        while not isinstance(declared, Declare):
            declared = found.get(timeout=LONG)
        assert declared.member == "1:0"
        assert loop.suspects == []
        reactor.soon(loop.end)


@pytest.mark.parametrize("own", ["launcher", "0:0"])
def test_what_each_member_says_of_its_health_is_admitted_at_a_front_end(own: str) -> None:
    call = heartbeat(own, Send("1:0", Ping(own, 1)))
    target = Target(call.component, call.interface, call.operation, call.client)
    check_sender(target, call.args)
