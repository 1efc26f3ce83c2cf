"""Collective calls: how arguments are spread over many servers, and results become one.

    python examples/08_collective_calls/survey.py

One multicast interface has an operation for each kind of distribution. A distribution says which
part of an argument each server gets; a reduction says how the results are combined. Conversely, a
gathercast interface combines many calls into one; calls of a `one_by_one` operation pass
individually.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Protocol

from gcm import (
    Cardinality,
    ContentController,
    GathercastController,
    MulticastController,
    broadcast,
    composite,
    concat,
    distribute,
    distribute_by,
    first,
    maximum,
    minimum,
    one_by_one,
    one_to_one,
    primitive,
    provides,
    random,
    reduce_by,
    reduce_with,
    requires,
    round_robin,
    select_unique,
    total,
    unicast,
)


def halves(value: Sequence[int], servers: int) -> Iterable[tuple[int, Sequence[int]]]:
    """Give the first half to the first server and the rest to the last one."""
    middle = len(value) // 2
    return [(0, value[:middle]), (servers - 1, value[middle:])]


def spread(results: Sequence[int]) -> int:
    return max(results) - min(results)


class Ask(Protocol):
    """The interface as the asking client sees it."""

    @distribute(one_to_one)
    def square(self, number: list[int]) -> list[int]: ...

    @distribute(round_robin)
    def add(self, number: list[int]) -> Annotated[int, total]: ...

    @distribute(random)
    def any_order(self, number: list[int]) -> Annotated[int, total]: ...

    @distribute(unicast)
    @reduce_with(first)
    def one_name(self) -> str: ...

    @distribute(distribute_by(halves))
    def longest(self, part: list[int]) -> Annotated[int, maximum]: ...

    @distribute(broadcast)
    def lines(self) -> Annotated[list[str], concat]: ...

    def lowest(self) -> Annotated[int, minimum]: ...

    def span(self) -> Annotated[int, reduce_by(spread)]: ...

    def version(self) -> Annotated[str, select_unique]: ...


class Answer(Protocol):
    """The interface as each server sees it."""

    def square(self, number: int) -> int: ...
    def add(self, number: int) -> int: ...
    def any_order(self, number: int) -> int: ...
    def one_name(self) -> str: ...
    def longest(self, part: list[int]) -> int: ...
    def lines(self) -> list[str]: ...
    def lowest(self) -> int: ...
    def span(self) -> int: ...
    def version(self) -> str: ...


class Votes(Protocol):
    def vote(self, choice: str) -> str: ...

    @one_by_one
    def greet(self, name: str) -> str: ...


@provides("answer", Answer)
class Member:
    box: Annotated[Votes, requires()]

    def __init__(self) -> None:
        self.number = 0

    def square(self, number: int) -> int:
        return number * number

    def add(self, number: int) -> int:
        return number

    any_order = add

    def one_name(self) -> str:
        return "a member"

    def longest(self, part: list[int]) -> int:
        return len(part)

    def lines(self) -> list[str]:
        return ["one", "two"]

    def lowest(self) -> int:
        self.number += 7
        return self.number

    def span(self) -> int:
        return self.number

    def version(self) -> str:
        return "1.0"


@provides("votes", Votes, cardinality=Cardinality.GATHERCAST)
class Box:
    def vote(self, choice: list[str]) -> list[str]:
        return [f"{choice.count(one)} of {len(choice)} said {one}" for one in choice]

    def greet(self, name: str) -> str:
        return f"hello {name}"


class Chair:
    members: Annotated[Ask, requires(cardinality=Cardinality.MULTICAST)]


def main() -> None:
    chair, box = primitive(Chair), primitive(Box)
    members = [primitive(Member, f"member{number}") for number in range(3)]
    room = composite("room")
    for part in (chair, box, *members):
        room.controller(ContentController).add(part)
    for member in members:
        chair.bind("members", member.server("answer"))
        member.bind("box", box.server("votes"))
    room.start()
    ask: Any = chair.client("members").reference
    print("one_to_one:", ask.square([1, 2, 3]))
    print("round_robin and total:", ask.add([1, 2, 3, 4, 5]))
    print("random and total:", ask.any_order([1, 2, 3, 4, 5]))
    print("unicast and first:", ask.one_name())
    print("distribute_by and maximum:", ask.longest([1, 2, 3, 4, 5]))
    print("broadcast and concat:", ask.lines())
    print("minimum:", ask.lowest())
    print("reduce_by:", ask.span())
    print("select_unique:", ask.version())
    print("bound to:", chair.controller(MulticastController).bound("members"))
    boxes: list[Any] = [member.client("box").reference for member in members]
    with ThreadPoolExecutor(3) as pool:
        for line in pool.map(lambda pair: pair[0].vote(pair[1]), zip(boxes, "aab", strict=True)):
            print("gathered:", line)
    print("one_by_one:", boxes[0].greet("Ada"))
    print("clients:", len(box.controller(GathercastController).clients("votes")))
    room.stop()
    room.terminate()


if __name__ == "__main__":
    main()
