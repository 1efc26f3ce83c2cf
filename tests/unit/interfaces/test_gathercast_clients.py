"""A composite with a gathercast client gathers what its parts send out."""

from __future__ import annotations

import threading
from typing import Annotated, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    Composite,
    InterfaceType,
    Role,
    active,
    composite,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.errors import IllegalBindingError
from gcm.membranes.content import ContentController
from tests.unit.parts import WAIT, Ended, Make


class Put(Protocol):
    def put(self, value: int) -> int: ...


class PutAll(Protocol):
    def put(self, value: list[int]) -> list[int]: ...


class Go(Protocol):
    def go(self, value: int) -> int: ...


@provides("go", Go)
class Sender:
    out: Annotated[Put, requires()]

    def go(self, value: int) -> int:
        return self.out.put(value)


@provides("in", PutAll)
class Receiver:
    def __init__(self) -> None:
        self.got: list[list[int]] = []

    def put(self, value: list[int]) -> list[int]:
        self.got.append(value)
        return [one * 10 for one in value]


OUT = InterfaceType("out", Put, Role.CLIENT, cardinality=Cardinality.GATHERCAST)


def assembly(ended: Ended, make: Make) -> tuple[list[Component], Component]:
    senders = [make(Sender, f"s{n}") for n in range(3)]
    box: Composite = composite("box", ComponentType((OUT,)))
    receiver = make(Receiver)
    root = ended(composite("root"))
    for sender in senders:
        box.controller(ContentController).add(sender)
        sender.bind("out", box.inner_server("out"))
    for part in (box, receiver):
        root.controller(ContentController).add(part)
    box.bind("out", receiver.server("in"))
    root.start()
    return senders, receiver


@pytest.mark.parametrize("make", [primitive, active])
def test_the_calls_of_all_parts_leave_as_one_with_lists_in_binding_order(
    make: Make, ended: Ended
) -> None:
    senders, receiver = assembly(ended, make)
    answers: dict[int, int] = {}

    def call(n: int) -> None:
        answers[n] = submit(senders[n].stub("go", Go).go, n + 1).result()

    threads = [threading.Thread(target=call, args=(n,)) for n in (2, 0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert receiver.content.got == [[1, 2, 3]]
    assert answers == {0: 10, 1: 20, 2: 30}


def test_a_server_that_takes_no_lists_cannot_be_bound_to_it() -> None:
    @provides("in", Put)
    class Single:
        def put(self, value: int) -> int:
            return value

    box = composite("box", ComponentType((OUT,)))
    with pytest.raises(IllegalBindingError, match="element per client"):
        box.bind("out", primitive(Single).server("in"))


def test_a_part_alone_is_the_only_one_waited_for(ended: Ended) -> None:
    sender, receiver = primitive(Sender), primitive(Receiver)
    box: Composite = ended(composite("box", ComponentType((OUT,))))
    box.controller(ContentController).add(sender)
    sender.bind("out", box.inner_server("out"))
    box.bind("out", receiver.server("in"))
    receiver.start()
    box.start()
    assert sender.stub("go", Go).go(4) == 40
    assert receiver.content.got == [[4]]
