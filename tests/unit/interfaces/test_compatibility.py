from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Protocol

import numpy as np
import numpy.typing as npt
import pytest

from gcm.interfaces.annotations import describe, element_of
from gcm.interfaces.compatibility import Mismatch, content_mismatches, mismatches
from gcm.interfaces.policies.reduction import concat, first, maximum, reduce_by, total
from gcm.interfaces.policies.spreading import (
    broadcast,
    distribute_by,
    one_to_one,
    random,
    round_robin,
    unicast,
)
from gcm.interfaces.signature import SignatureError
from gcm.interfaces.types import Cardinality

MULTICAST, GATHERCAST = Cardinality.MULTICAST, Cardinality.GATHERCAST


class Base:
    pass


class Derived(Base):
    pass


class Greeter(Protocol):
    def greet(self, name: str, times: int = 1) -> str: ...


def sentences(found: Sequence[Mismatch]) -> list[str]:
    return [str(one) for one in found]


def compare(
    client: Callable[..., Any],
    server: Callable[..., Any],
    cardinality: Cardinality = Cardinality.SINGLETON,
) -> list[Mismatch]:
    """Compare two interfaces with the one operation `op`."""
    asking = type("Client", (), {"op": client})
    serving = type("Server", (), {"op": server})
    return mismatches(asking, serving, cardinality)


def test_an_interface_fits_itself_and_a_subtype() -> None:
    class Polite(Greeter, Protocol):
        def part(self, name: str) -> None: ...

    assert mismatches(Greeter, Greeter) == []
    assert mismatches(Greeter, Greeter, Cardinality.COLLECTION) == []
    assert mismatches(Greeter, Polite) == []


def test_the_structure_counts_and_not_the_name() -> None:
    class Other(Protocol):
        def greet(self, name: object, times: float = 3, loud: bool = False) -> str: ...

    assert mismatches(Greeter, Other) == []


def test_a_missing_operation_is_a_mismatch() -> None:
    class Clock(Protocol):
        def time(self) -> float: ...

    assert mismatches(Greeter, Clock) == [
        Mismatch(
            "greet",
            "",
            "greet(name: str, times: int = 1) -> str",
            "",
            "Clock has no operation 'greet'",
        )
    ]


def test_every_mismatch_of_every_operation_is_listed() -> None:
    class Client(Protocol):
        def one(self, a: int, b: int = 0) -> str: ...

        def two(self) -> None: ...

        def three(self, x: str) -> Base: ...

    class Server(Protocol):
        def one(self, a: str, b: int, c: int) -> int: ...

        def three(self, y: str) -> Derived: ...

    assert sentences(mismatches(Client, Server)) == [
        "Server.one takes str for 'a', but Client.one gives int",
        "Server.one requires 'b', which Client.one may leave out",
        "Server.one requires 'c', which Client.one never gives",
        "Server.one returns int, but Client.one needs str",
        "Server has no operation 'two'",
        "parameter 1 of Server.three is named 'y', but Client.three names it 'x' and may be "
        "called with the name",
    ]


def test_a_mismatch_of_types_says_what_was_expected_and_found() -> None:
    def client(self: Any, a: list[int]) -> str:
        raise NotImplementedError

    def server(self: Any, a: list[str]) -> int:
        raise NotImplementedError

    assert compare(client, server) == [
        Mismatch(
            "op",
            "a",
            "list[int]",
            "list[str]",
            "Server.op takes list[str] for 'a', but Client.op gives list[int]",
        ),
        Mismatch("op", "", "str", "int", "Server.op returns int, but Client.op needs str"),
    ]


def test_parameters_may_be_wider_and_results_narrower_but_not_the_reverse() -> None:
    def narrow_in(self: Any, a: Derived) -> Base:
        raise NotImplementedError

    def wide_in(self: Any, a: Base) -> Derived:
        raise NotImplementedError

    assert compare(narrow_in, wide_in) == []
    assert [one.parameter for one in compare(wide_in, narrow_in)] == ["a", ""]


def test_missing_annotations_fit_everything() -> None:
    def bare(self, a, b=2):  # type: ignore[no-untyped-def]  # what is tested
        pass

    def full(self: Any, a: int, b: str = "") -> str:
        raise NotImplementedError

    assert compare(bare, full) == []
    assert compare(full, bare) == []


# Each pair of parameter lists: what the client may write, what the server takes, and the kinds of
# mismatch as (parameter, expected, found).
CALLS: list[tuple[str, str, list[tuple[str, str, str]]]] = [
    ("a, b", "a, b", []),
    ("a, /", "x", []),
    ("a, /", "x, /", []),
    ("a", "a, /", [("a", "positional or keyword", "positional only")]),
    ("a", "a, /, **rest", []),
    ("a", "x", [("a", "a", "x")]),
    ("a, b", "b, a", [("a", "a", "b"), ("b", "b", "a")]),
    ("a, b", "a", [("b", "b: Any", "")]),
    ("a", "a, b", [("b", "", "b: Any")]),
    ("a", "a, b=1", []),
    ("a", "a, *, k", [("k", "", "k: Any")]),
    ("a", "a, *, k=1", []),
    ("a, b", "a, *, b", [("b", "positional or keyword", "keyword only")]),
    ("a, b", "a, *rest, b=1", [("b", "positional or keyword", "keyword only")]),
    ("a=1", "a=2", []),
    ("a=1", "a", [("a", "a default", "no default")]),
    ("a", "a=2", []),
    ("a, b", "*args, **kwargs", []),
    ("a=1", "*args, **kwargs", []),
    ("a", "*args", [("a", "positional or keyword", "positional only")]),
    ("a, b, /", "*args", []),
    ("a, b, /", "**kwargs", [("a", "a: Any", ""), ("b", "b: Any", "")]),
    ("a, /", "", [("a", "a: Any", "")]),
    ("b, /", "x, b", [("b", "", "b: Any")]),
    ("*, k", "*, k", []),
    ("*, k", "k", []),
    ("*, k", "k, /", [("k", "k: Any", "")]),
    ("*, k", "**rest", []),
    ("*, k", "", [("k", "k: Any", "")]),
    ("*, k=1", "*, k", [("k", "a default", "no default")]),
    ("*, k", "*, j", [("k", "k: Any", ""), ("j", "", "j: Any")]),
    ("*args", "*items", []),
    ("*args", "a=1", [("args", "any number of positional arguments", "")]),
    ("*args", "a=1, *items", []),
    ("**kw", "**others", []),
    ("**kw", "a=1", [("kw", "any keyword arguments", "")]),
    ("", "*args, **kwargs", []),
    ("", "*, a, b", [("a", "", "a: Any"), ("b", "", "b: Any")]),
]


@pytest.mark.parametrize(("client", "server", "expected"), CALLS)
def test_every_call_that_the_client_may_write_must_reach_the_server(
    client: str, server: str, expected: list[tuple[str, str, str]]
) -> None:
    def make(parameters: str) -> Callable[..., Any]:
        scope: dict[str, Any] = {}
        exec(f"def op(self, {parameters}): pass", scope)
        made: Callable[..., Any] = scope["op"]
        return made

    found = compare(make(client), make(server))
    assert [(one.parameter, one.expected, one.found) for one in found] == expected
    assert all(one.operation == "op" for one in found)


def test_each_way_of_calling_has_its_sentence() -> None:
    def client(self: Any, a: int, b: int, c: int, *d: int, **e: int) -> None: ...

    def server(self: Any, a: int, /, *, b: int) -> None: ...

    assert sentences(compare(client, server)) == [
        "Server.op takes 'a' by position only, but Client.op may be called with the name",
        "Server.op takes 'b' by keyword only, but Client.op may be called without the name",
        "Server.op has no parameter 'c'",
        "Server.op does not take any number of positional arguments, as Client.op does",
        "Server.op does not take any keyword arguments, as Client.op does",
    ]

    def keyword(self: Any, *, k: int) -> None: ...

    def none(self: Any) -> None: ...

    assert sentences(compare(keyword, none)) == [
        "Server.op has no parameter 'k' that takes a keyword"
    ]


def test_types_are_compared_through_variadic_parameters_too() -> None:
    def client(self: Any, a: int, /, *b: int, c: int, **d: int) -> None: ...

    def server(self: Any, *args: str, **kwargs: bytes) -> None: ...

    assert [(one.parameter, one.expected, one.found) for one in compare(client, server)] == [
        ("a", "int", "str"),
        ("b", "int", "str"),
        ("c", "int", "bytes"),
        ("d", "int", "bytes"),
    ]


def test_classes_made_inside_functions_are_compared_by_the_text_they_share() -> None:
    class Item:
        pass

    class Client(Protocol):
        def put(self, item: Item) -> list[Item]: ...

    class Same(Protocol):
        def put(self, item: Item) -> list[Item]: ...

    class Other(Protocol):
        def put(self, item: list[Item]) -> list[Item]: ...

    assert mismatches(Client, Same) == []
    assert [(one.expected, one.found) for one in mismatches(Client, Other)] == [
        ("Item", "list[Item]")
    ]


def test_a_class_that_is_no_signature_raises() -> None:
    class Bad(Protocol):
        @property
        def p(self) -> int: ...

    with pytest.raises(SignatureError):
        mismatches(Greeter, Bad)
    with pytest.raises(SignatureError):
        content_mismatches(object, Bad)


# ---------------------------------------------------------------------------------- multicast


class Workers(Protocol):
    def whole(
        self, a: int, b: Annotated[int, broadcast], c: Annotated[int, unicast]
    ) -> list[int]: ...

    def spread(
        self,
        a: Annotated[list[int], one_to_one],
        b: Annotated[Sequence[int], round_robin],
        c: Annotated[tuple[int, ...], random],
        d: Annotated[npt.NDArray[np.float64], one_to_one],
        e: Annotated[dict[str, int], distribute_by(lambda value, _: value.items())],
    ) -> None: ...


def test_a_multicast_client_gives_elements_of_what_it_spreads_and_blocks_of_arrays() -> None:
    class Worker(Protocol):
        def whole(self, a: int, b: int, c: int) -> int: ...

        def spread(self, a: int, b: int, c: int, d: npt.NDArray[np.float64], e: str) -> str: ...

    assert mismatches(Workers, Worker, MULTICAST) == []


def test_a_multicast_server_that_takes_lists_where_elements_come_is_told() -> None:
    class Worker(Protocol):
        def whole(self, a: list[int], b: list[int], c: list[int]) -> list[int]: ...

        def spread(
            self, a: list[int], b: list[int], c: list[int], d: float, e: int
        ) -> list[str]: ...

    found = mismatches(Workers, Worker, MULTICAST)
    assert [(one.operation, one.parameter, one.expected, one.found) for one in found] == [
        ("whole", "a", "int", "list[int]"),
        ("whole", "b", "int", "list[int]"),
        ("whole", "c", "int", "list[int]"),
        ("whole", "", "list[int]", "list[list[int]]"),
        ("spread", "a", "int", "list[int]"),
        ("spread", "b", "int", "list[int]"),
        ("spread", "c", "int", "list[int]"),
        ("spread", "d", describe(element_of(npt.NDArray[np.float64])), "float"),
    ]
    assert str(found[4]) == (
        "Worker.spread takes list[int] for 'a', but Workers.spread gives int (spread by one_to_one)"
    )


def test_the_same_class_is_compared_when_it_is_multicast() -> None:
    assert mismatches(Greeter, Greeter, MULTICAST) != []


def test_what_has_no_elements_cannot_be_spread() -> None:
    def client(self: Any, a: Annotated[int, round_robin]) -> None: ...

    def server(self: Any, a: int) -> None: ...

    assert compare(client, server, MULTICAST) == [
        Mismatch(
            "op",
            "a",
            "a list or an array",
            "int",
            "Client.op spreads 'a' by round_robin, but int has no elements to spread",
        )
    ]
    assert compare(client, server) == []


def returning(annotation: Any) -> Callable[..., Any]:
    def op(self: Any) -> Any: ...

    op.__annotations__["return"] = annotation
    return op


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (None, int),
        (list[int], int),
        (Sequence[float], bool),
        (list[None], None),
        (Any, int),
        (list[Any], int),
        (Annotated[int, first], int),
        (Annotated[Base, maximum], Derived),
        (Annotated[int, total], str),
        (Annotated[list[int], concat], list[int]),
        (Annotated[str, reduce_by(str)], int),
        (Annotated[None, first], int),
    ],
    ids=lambda annotation: re.sub(r" at 0x\w+", "", str(annotation)),
)
def test_a_multicast_result_is_nothing_a_list_or_what_its_reduction_makes(
    wanted: Any, found: Any
) -> None:
    assert compare(returning(wanted), returning(found), MULTICAST) == []


@pytest.mark.parametrize(
    ("wanted", "found", "sentence"),
    [
        (
            int,
            int,
            "Server.op returns list[int], but Client.op needs int (without a reduction the "
            "client gets the list of all results)",
        ),
        (
            list[str],
            int,
            "Server.op returns list[int], but Client.op needs list[str] (without a reduction the "
            "client gets the list of all results)",
        ),
        (
            Annotated[str, first],
            int,
            "Server.op returns int, but Client.op needs str (reduced by first)",
        ),
    ],
)
def test_a_multicast_result_that_cannot_be_is_told(wanted: Any, found: Any, sentence: str) -> None:
    assert sentences(compare(returning(wanted), returning(found), MULTICAST)) == [sentence]


# --------------------------------------------------------------------------------- gathercast


def test_a_gathercast_server_takes_and_returns_lists_of_what_clients_give_and_get() -> None:
    class Client(Protocol):
        def op(self, a: int, *b: str, c: npt.NDArray[np.float64]) -> float: ...

    class Server(Protocol):
        def op(
            self, a: list[int], *b: list[str], c: list[npt.NDArray[np.float64]]
        ) -> list[int]: ...

    assert mismatches(Client, Server, GATHERCAST) == []
    assert content_mismatches(Server, Client, gathercast=True) == []
    assert [one.parameter for one in content_mismatches(Server, Client)] == ["a", "b", "c", ""]


def test_a_gathercast_content_with_single_values_is_told() -> None:
    def client(self: Any, a: int) -> str:
        raise NotImplementedError

    assert compare(client, client, GATHERCAST) == [
        Mismatch(
            "op",
            "a",
            "list[int]",
            "int",
            "Server.op takes int for 'a', but Client.op gives list[int] (one element per client)",
        ),
        Mismatch(
            "op",
            "",
            "list[str]",
            "str",
            "Server.op returns str, but Client.op needs list[str] (one result per client)",
        ),
    ]


@pytest.mark.parametrize(
    ("wanted", "found", "fitting"),
    [
        (None, int, True),
        (None, None, True),
        (int | None, None, True),
        (int, None, False),
        (int, list[int], True),
        (int, tuple[int, ...], True),
        (int, Any, True),
        (float, np.ndarray, True),
        (int, list[str], False),
        (int, int, False),
        (int, dict[int, int], False),
    ],
    ids=str,
)
def test_gathered_results_go_back_by_index(wanted: Any, found: Any, fitting: bool) -> None:
    assert (compare(returning(wanted), returning(found), GATHERCAST) == []) is fitting


# ------------------------------------------------------------------------------------ content


def test_plain_content_without_annotations_serves() -> None:
    class Plain:
        def greet(self, name, times=1):  # type: ignore[no-untyped-def]  # what is tested
            return name * times

    assert content_mismatches(Plain, Greeter) == []


def test_content_methods_are_held_against_the_signature() -> None:
    class Wrong:
        def greet(self, name: int, times: int = 1) -> str:
            return str(name)

    (found,) = content_mismatches(Wrong, Greeter)
    assert (found.parameter, found.expected, found.found) == ("name", "str", "int")
    assert str(found) == "Wrong.greet takes int for 'name', but Greeter.greet gives str"


def test_a_missing_method_is_told_unless_the_content_makes_methods_up() -> None:
    class Empty:
        pass

    class Dynamic:
        def __getattr__(self, name: str) -> Any:
            return name

    (found,) = content_mismatches(Empty, Greeter)
    assert found.sentence == "Empty has no operation 'greet'"
    assert found.expected == "greet(name: str, times: int = 1) -> str"
    assert content_mismatches(Dynamic, Greeter) == []


def test_content_methods_may_take_anything_and_be_inherited_static_or_of_the_class() -> None:
    class Loose:
        def greet(self, *args: Any, **kwargs: Any) -> Any: ...

    class Inheriting(Loose):
        pass

    class Static:
        @staticmethod
        def greet(name: str, times: int = 1) -> str:
            return name

    class OfClass:
        @classmethod
        def greet(cls, name: str, times: int = 1) -> str:
            return name

    for content in (Loose, Inheriting, Static, OfClass):
        assert content_mismatches(content, Greeter) == []


def test_static_and_class_methods_are_compared_as_well() -> None:
    class Static:
        @staticmethod
        def greet(name: str) -> str:
            return name

    class OfClass:
        @classmethod
        def greet(cls, name: str, times: str = "") -> str:
            return name

    assert [one.parameter for one in content_mismatches(Static, Greeter)] == ["times"]
    assert [one.found for one in content_mismatches(OfClass, Greeter)] == ["str"]


def test_members_that_only_the_instance_can_explain_are_accepted() -> None:
    class Lazy:
        greet = property(lambda _: len)

    class Nested:
        class greet:
            def __init__(self, name: str, times: int = 1) -> None: ...

    assert content_mismatches(Lazy, Greeter) == []
    assert content_mismatches(Nested, Greeter) == []


@pytest.mark.parametrize("value", [3, "text", [1], {}, (), 1.5, b"", set()])
def test_a_value_in_place_of_a_method_is_told(value: object) -> None:
    content = type("Content", (), {"greet": value})
    kind = type(value).__name__
    assert content_mismatches(content, Greeter) == [
        Mismatch(
            "greet",
            "",
            "greet(name: str, times: int = 1) -> str",
            kind,
            f"'greet' of Content is a {kind}, not a method",
        )
    ]


def test_unresolvable_annotations_of_content_are_no_fault_of_the_assembly() -> None:
    content = type("Content", (), {})

    def greet(self: Any, name: Nowhere, times: int = 1) -> Any: ...  # type: ignore[name-defined]  # noqa: F821 - what is tested

    content.greet = greet  # type: ignore[attr-defined]  # a class made at run time
    assert content_mismatches(content, Greeter) == []
