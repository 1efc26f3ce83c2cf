"""Routes: the longest prefix decides, and what was lost is remembered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self

import pytest

from runtime.hosting.routes import RoutingTable, only

A_MOMENT = 0.2
"""Seconds in which another thread gets through, if it does not have to wait."""


def table(**ways: str) -> RoutingTable[str]:
    routes: RoutingTable[str] = RoutingTable()
    for way, prefix in ways.items():
        routes.add(prefix, way)
    return routes


def test_the_longest_prefix_of_whole_names_decides() -> None:
    routes = table(top="/", a="/a", ab="/a/b")
    found = {path: routes.find(path) for path in ("/", "/x", "/a", "/a/b", "/a/b/c", "/a/bc")}
    assert found == {
        "/": "top", "/x": "top", "/a": "a", "/a/b": "ab", "/a/b/c": "ab", "/a/bc": "a",
    }  # fmt: skip


def test_nothing_leads_to_what_no_prefix_fits() -> None:
    routes = table(a="/a")
    assert routes.find("/b") is None
    assert routes.why_lost("/b") == ""


def test_a_prefix_can_be_led_elsewhere_and_dropped() -> None:
    routes = table(top="/", a="/a")
    routes.add("/a/", "other")
    assert routes.find("/a/b") == "other"
    routes.drop("/a")
    assert routes.find("/a/b") == "top"
    routes.drop("/never/there")
    assert routes.why_lost("/a") == ""


def test_what_is_lost_is_not_led_another_way_but_says_why() -> None:
    routes = table(top="/")
    way = "to a"
    routes.add("/a", way)
    routes.add("/b/c", way)
    routes.remove(way, "it died")
    assert routes.find("/a/x") is None
    assert routes.find("/b/c") is None
    assert routes.find("/b") == "top"
    assert routes.why_lost("/a/x") == "it died"
    assert routes.why_lost("/b") == ""


def test_a_new_way_replaces_a_lost_one() -> None:
    routes = table(a="/a")
    routes.remove("a", "it died")
    routes.add("/a", "again")
    assert routes.find("/a/b") == "again"
    assert routes.why_lost("/a/b") == ""


def test_a_more_exact_way_counts_in_spite_of_a_lost_one() -> None:
    routes = table(a="/a", ab="/a/b")
    routes.remove("a", "it died")
    assert routes.find("/a/b/c") == "ab"
    assert routes.find("/a/c") is None


class Interrupted(str):
    """A path of one name; the next who looks it up in a table, or enters it, is interrupted."""

    __slots__ = ("interrupt",)
    interrupt: Callable[[], None] | None

    def __new__(cls, text: str) -> Self:
        made = super().__new__(cls, text)
        made.interrupt = None
        return made

    def split(self, *_: object) -> list[str]:
        return [self]

    def __hash__(self) -> int:
        interrupt, self.interrupt = self.interrupt, None
        if interrupt is not None:
            interrupt()
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)


CHANGES: dict[str, Callable[[RoutingTable[str], str], None]] = {
    "add": lambda routes, known: routes.add(known, "another way"),
    "drop": lambda routes, _: routes.drop("/a"),
    "remove": lambda routes, _: routes.remove("a", "it died"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_does_not_undo_that_of_another_thread(change: str) -> None:
    routes, known = table(a="/a"), Interrupted("known")
    routes.add(known, "way")
    other = threading.Thread(target=routes.add, args=("/other", "elsewhere"))

    def interrupt() -> None:
        other.start()
        other.join(A_MOMENT)

    known.interrupt = interrupt
    CHANGES[change](routes, known)
    other.join(10)
    assert routes.find("/other") == "elsewhere"


def test_a_way_that_ends_while_somebody_looks_for_it_is_as_it_was_when_the_look_began() -> None:
    routes, path = table(top="/", a="a"), Interrupted("a")
    path.interrupt = lambda: routes.remove("a", "it died")
    assert routes.find(path) == "a"
    path.interrupt = lambda: routes.add("a", "again")
    assert routes.why_lost(path) == "it died"
    assert routes.find(path) == "again"


class Watched(RoutingTable[str]):
    """Routes that are asked for one path after every step of every change."""

    found: list[str | None] | None = None

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if self.found is not None:
            self.found.append(self.find("/a/b"))


def test_nobody_is_led_another_way_while_one_is_taken_out() -> None:
    routes = Watched()
    routes.add("/", "top")
    routes.add("/a", "a")
    routes.found = []
    routes.remove("a", "it died")
    assert set(routes.found) == {"a", None}


def test_a_prefix_can_be_that_of_one_path_alone() -> None:
    routes = RoutingTable[str]()
    routes.add("/", "up")
    routes.add(only("/a/b"), "here")
    assert [routes.find(path) for path in ("/a/b", "/a/b/c", "/a")] == ["here", "up", "up"]
    routes.remove("here", "it died")
    assert (routes.find("/a/b"), routes.find("/a/b/c")) == (None, "up")
