"""Who interrupts a multicast leaves no thread behind that waits for the rest of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol

import pytest

from gcm import Cardinality, Component, one_to_one, primitive, provides, requires
from gcm.interfaces.going_on import Handed
from tests.unit.parts import WAIT


class Go(Protocol):
    def go(self, number: int) -> None: ...


class GoAll(Protocol):
    def go(self, number: int) -> list[None]: ...


class GoEach(Protocol):
    def go(self, number: Annotated[list[int], one_to_one]) -> list[None]: ...


class Meet(Protocol):
    def meet(self, number: int) -> int: ...


@provides("hall", Meet, cardinality=Cardinality.GATHERCAST)
class Hall:
    def meet(self, number: list[int]) -> list[int]:
        return number


@provides("go", Go)
class Member:
    """Meets the others twice; the first member is interrupted between the two."""

    hall: Annotated[Meet, requires()]
    before: Callable[[], None]
    log: list[Any]

    def go(self, number: int) -> None:
        self.hall.meet(number)
        self.before()
        self.log.append(threading.current_thread())
        try:
            self.hall.meet(number)
        except Exception as error:
            self.log.append(str(error))
            raise


class Boss:
    all: Annotated[GoAll, requires(cardinality=Cardinality.MULTICAST)]


class EachBoss:
    all: Annotated[GoEach, requires(cardinality=Cardinality.MULTICAST)]


def assembly(boss: Component, log: list[Any], hall: Component) -> Sequence[Component]:
    members = [primitive(Member, f"m{n}") for n in range(3)]
    hall.start()
    for member in members:
        member.content.log = log
        member.content.before = lambda: None
        member.bind("hall", hall.server("hall"))
        boss.bind("all", member.server("go"))
        member.start()
    boss.start()
    return members


REFUSAL = (
    "another call of the round will not come: its multicast was interrupted "
    "[component /hall, interface 'hall']"
)


@pytest.mark.parametrize("late", [False, True], ids=["they wait already", "they wait later"])
@pytest.mark.parametrize(("kind", "number"), [(Boss, 7), (EachBoss, [7, 8, 9])])
def test_who_waits_for_the_interrupted_call_is_refused(
    kind: Callable[[], Any], number: Any, late: bool
) -> None:
    log: list[Any] = []
    boss, hall = primitive(kind), primitive(Hall)
    members = assembly(boss, log, hall)
    gathering = hall.server("hall").gathering
    assert gathering is not None
    gone = threading.Event()

    def interrupt() -> None:
        while not late and len(gathering.waiting().get("meet", "none")) != 1:
            threading.Event().wait(0.001)
        raise KeyboardInterrupt

    members[0].content.before = interrupt
    if late:
        for member in members[1:]:
            member.content.before = lambda: gone.wait(WAIT)
    with pytest.raises(KeyboardInterrupt):
        boss.content.all.go(number)
    gone.set()
    for thread in list(log):
        if isinstance(thread, threading.Thread):
            thread.join(WAIT)
    for thread in threading.enumerate():
        if thread.name == "multicast":
            thread.join(WAIT)
            assert not thread.is_alive()
    assert [entry for entry in log if isinstance(entry, str)] == [REFUSAL, REFUSAL]
    assert gathering.waiting() == {}


def test_what_was_handed_on_from_there_is_interrupted_too() -> None:
    ended: list[str] = []
    outer, inner = Handed("outer"), Handed("inner")
    outer.hand_further(inner)
    outer.interrupt()
    assert inner.wait(lambda: "waited", lambda: ended.append("inner")) == "waited"
    late = Handed("late")
    outer.hand_further(late)
    late.wait(lambda: None, lambda: ended.append("late"))
    assert ended == ["inner", "late"]


def test_a_wait_that_is_over_is_not_ended_again() -> None:
    ended: list[str] = []
    handed = Handed("calls")
    handed.wait(lambda: None, lambda: ended.append("too late"))
    handed.interrupt()
    assert ended == []


def test_without_a_thread_for_the_rest_the_multicast_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    log: list[Any] = []
    boss, hall = primitive(Boss), primitive(Hall)
    assembly(boss, log, hall)

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        boss.content.all.go(7)
