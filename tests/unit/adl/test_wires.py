"""The bindings of a live composite come in an order that makes the same assembly again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

from hypothesis import given
from hypothesis import strategies as st

from gcm import Cardinality, Composite, composite, primitive, provides, requires
from gcm.adl.writing.wires import wires_of
from gcm.membranes.content import ContentController


class One(Protocol):
    def call(self, n: int) -> int: ...


@provides("in", One, cardinality=Cardinality.GATHERCAST)
class Sink:
    def call(self, n: list[int]) -> list[int]:
        return n


class Collector:
    out: Annotated[Mapping[str, One], requires(cardinality=Cardinality.COLLECTION)]


Pair = tuple[int, int]
SOURCES, SINKS = 4, 3


def bound(pairs: Sequence[Pair]) -> Composite:
    made = composite("all")
    controller = made.controller(ContentController)
    for number in range(SOURCES):
        controller.add(primitive(Collector, f"source{number}"))
    for number in range(SINKS):
        controller.add(primitive(Sink, f"sink{number}"))
    for source, sink in pairs:
        made.find(f"source{source}").bind(f"out{sink}", made.find(f"sink{sink}").server("in"))
    return made


def orders(made: Composite) -> list[list[str]]:
    """Return what the order of bindings decides: the clients of each sink."""
    return [
        [client.path for client in made.find(f"sink{number}").server("in").clients]
        for number in range(SINKS)
    ]


PAIRS = st.lists(
    st.tuples(st.integers(0, SOURCES - 1), st.integers(0, SINKS - 1)), unique=True, max_size=12
)


def pairs_of(made: Composite) -> list[Pair]:
    found = []
    for wire in wires_of(made):
        assert wire.server_end is not None
        found.append((int(wire.client_end[0][-1]), int(wire.server_end[0][-1])))
    return found


@given(PAIRS)
def test_bindings_in_the_order_of_the_wires_make_the_same_orders(pairs: list[Pair]) -> None:
    made = bound(pairs)
    wires = pairs_of(made)
    assert sorted(wires) == sorted(pairs)
    again = bound(wires)
    assert orders(again) == orders(made)
    assert pairs_of(again) == wires


def test_without_gathercast_the_wires_follow_the_components() -> None:
    @provides("in", One)
    class Plain:
        def call(self, n: int) -> int:
            return n

    made = composite("all")
    for part in (
        primitive(Collector, "a"),
        primitive(Collector, "b"),
        primitive(Plain, "x"),
        primitive(Plain, "y"),
    ):
        made.controller(ContentController).add(part)
    for client, member, server in (("b", "out1", "x"), ("a", "out2", "y"), ("a", "out1", "x")):
        made.find(client).bind(member, made.find(server).server("in"))
    ends = [(wire.client_end, wire.server_end) for wire in wires_of(made)]
    assert ends == [
        (("a", "out2"), ("y", "in")),
        (("a", "out1"), ("x", "in")),
        (("b", "out1"), ("x", "in")),
    ]
