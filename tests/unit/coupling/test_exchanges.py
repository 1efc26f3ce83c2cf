from __future__ import annotations

import itertools
import random
from array import array
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gcm.interfaces.future import Future
from runtime.code_port import CodePort, PortLink
from runtime.coupling.broadcasting import broadcast, relations
from runtime.coupling.errors import (
    CodeEnded,
    CouplingError,
    LayoutFault,
    NoSuchPort,
    UnknownSetting,
)
from runtime.coupling.exchanging import RankPorts
from runtime.coupling.layouts import (
    BLOCKS,
    CYCLIC,
    ArrayShare,
    Dealing,
    check_pair,
    places_of,
    share_of,
)
from runtime.coupling.settings import setting_of
from runtime.matching import ANY
from tests.unit.coupling.joined_mailboxes import JoinedMailboxes, later

LINKS = (
    PortLink(CodePort("sea", "heat"), CodePort("air", "below")),
    PortLink(CodePort("sea", "heat"), CodePort("ice", "below")),
    PortLink(CodePort("air", "wind"), CodePort("sea", "wind")),
)
CODES = {"sea": [("0:0", 2)], "air": [("0:1", 2), ("1:0", 1)], "ice": [("1:1", 1)]}
MEMBERS = [("sea", "0:0:0"), ("sea", "0:0:1"), ("air", "0:1:0"), ("air", "0:1:1"), ("air", "1:0:0")]


class Coupled:
    """Two or three codes whose ranks exchange arrays, each in a thread of its own."""

    def __init__(self, links: tuple[PortLink, ...] = LINKS[:1] + LINKS[2:]) -> None:
        self.boxes = JoinedMailboxes(running=tuple(CODES), names=CODES, links=links)
        self.ports = {name: RankPorts(self.boxes[name]) for _, name in MEMBERS}

    def start_again(self, name: str, incarnation: int) -> None:
        code, rank = self.boxes.registry.directory.whose(name)
        self.boxes.registry.rank_ended(code, rank, "signal 9")
        self.boxes.registry.starts_again(code, rank)
        self.ports[name] = RankPorts(self.boxes.join(name, incarnation))

    def all(self, **calls: Callable[[RankPorts, int], Any]) -> list[Future[Any]]:
        """Let each rank of some codes make the call of its code."""
        return [
            later(lambda name=name, code=code: calls[code](self.ports[name], rank_of(name)))  # type: ignore[misc]  # a default of a lambda
            for code, name in MEMBERS
            if code in calls
        ]


def rank_of(name: str) -> int:
    code = next(one for one, other in MEMBERS if other == name)
    return [other for one, other in MEMBERS if one == code].index(name)


def failures(futures: list[Future[Any]]) -> list[CouplingError]:
    found = []
    for one in futures:
        with pytest.raises(CouplingError) as caught:
            one.result(5)
        found.append(caught.value)
    return found


def dealt(rng: random.Random, layout: str, ranks: int, total: int) -> list[Any]:
    """Return the layout that each of some ranks names, and the rows that it has."""
    if layout == CYCLIC:
        return [(CYCLIC, np.arange(rank, total, ranks)) for rank in range(ranks)]
    cuts = sorted(rng.randint(0, total) for _ in range(ranks - 1))
    parts = np.split(np.arange(total), cuts)
    if layout == BLOCKS:
        return [(BLOCKS, part) for part in parts]
    shuffled = np.array(rng.sample(range(total), total), dtype=int)
    return [(list(shuffled[part]), shuffled[part]) for part in parts]


@pytest.mark.parametrize("seed", range(60))
def test_each_row_goes_to_the_rank_that_has_it_in_the_other_code(seed: int) -> None:
    rng = random.Random(seed)
    total = rng.choice([0, 1, 2, 7, 30])
    kinds = itertools.product((BLOCKS, CYCLIC, "listed"), repeat=2)
    gives_kind, takes_kind = list(kinds)[seed % 9]
    gives = dealt(rng, gives_kind, rng.randint(1, 5), total)
    takes = dealt(rng, takes_kind, rng.randint(1, 5), total)
    given = [rows * 10.0 for _, rows in gives]
    taken = [np.full(len(rows), np.nan) for _, rows in takes]
    one = Dealing(
        "a", [share_of(rows, layout) for rows, (layout, _) in zip(given, gives, strict=True)]
    )
    other = Dealing(
        "b", [share_of(rows, layout) for rows, (layout, _) in zip(taken, takes, strict=True)]
    )
    check_pair(one, other)
    messages = {
        (rank, to): given[rank][places]
        for rank in range(len(gives))
        for to, places in places_of(one, rank, other)
    }
    for rank in range(len(takes)):
        for source, places in places_of(other, rank, one):
            taken[rank][places] = messages.pop((source, rank))
    assert not messages
    for rows, (_, numbers) in zip(taken, takes, strict=True):
        assert rows.tolist() == (numbers * 10.0).tolist()


WRONG: dict[str, tuple[Any, Any]] = {
    "rank 1 of a lists row 4, and all ranks together have the rows 0 to 3": ([0, 1], [2, 4]),
    "row 1 is listed by the ranks 0 and 1 of a": ([0, 1], [1, 3]),
    "rank 1 of a lists row 3 twice": ([0, 1], [3, 3]),
    "the ranks of a differ: rank 0 has the layout 'listed', and rank 1 'blocks'": (
        [0, 1],
        BLOCKS,
    ),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_list_of_rows_that_is_not_all_of_them_once_is_refused(said: str) -> None:
    shares = [share_of(np.zeros(2), layout) for layout in WRONG[said]]
    with pytest.raises(LayoutFault, match=said):
        Dealing("a", shares)


def test_rows_in_turn_have_to_be_as_many_as_the_turns() -> None:
    with pytest.raises(LayoutFault, match=r"of 4 rows .* rank 0 has 2, and not 3"):
        Dealing("a", [ArrayShare(CYCLIC, 3, "<f8"), ArrayShare(CYCLIC, 1, "<f8")])


def test_what_is_no_array_of_rows_is_refused() -> None:
    cases: dict[str, tuple[Any, Any]] = {
        "one number has no rows": (np.array(1.0), BLOCKS),
        "an array of Python objects": (np.array([{}]), BLOCKS),
        "there is no layout 'block'": (np.zeros(2), "block"),
        "the layout lists 1 rows, and the array has 2": (np.zeros(2), [0]),
        "has the number of each row": (np.zeros(2), [0.5, 1.5]),
    }
    for said, (rows, layout) in cases.items():
        with pytest.raises(LayoutFault, match=said):
            share_of(rows, layout)


def test_two_codes_exchange_in_both_directions_step_by_step() -> None:
    codes = Coupled()

    def sea(ports: RankPorts, rank: int) -> list[float]:
        seen: list[float] = []
        wind = array("d", [0.0] * 3)
        for step in range(4):
            ports.exchange("heat", np.arange(3.0) + 3 * rank + 100 * step, BLOCKS, 1)
            ports.exchange("wind", wind, BLOCKS, 1)
            seen += wind
        return seen

    def air(ports: RankPorts, rank: int) -> None:
        below = np.zeros(2)
        for _ in range(4):
            ports.exchange("below", below, CYCLIC, 1)
            ports.exchange("wind", -below, [rank, rank + 3], 1)

    found = [one.result(5) for one in codes.all(sea=sea, air=air)]
    for rank in (0, 1):
        steps = range(4)
        assert found[rank] == [
            -(100.0 * step + 3 * rank + row) for step in steps for row in range(3)
        ]


def test_one_of_so_many_calls_moves_something() -> None:
    codes = Coupled()

    def sea(ports: RankPorts, rank: int) -> list[bool]:
        return [
            ports.exchange("heat", np.full((3, 2), float(step)), BLOCKS, 3) for step in range(7)
        ]

    def air(ports: RankPorts, rank: int) -> list[float]:
        below, seen = np.zeros((2, 2)), []
        for _ in range(3):
            assert ports.exchange("below", below, BLOCKS, 1)
            seen.append(float(below.max()))
        return seen

    *moved, first, second, third = (one.result(5) for one in codes.all(sea=sea, air=air))
    assert moved == [[True, False, False, True, False, False, True]] * 2
    assert first == second == third == [0.0, 3.0, 6.0]


def test_arrays_that_do_not_fit_are_told_to_all_ranks_of_both_codes() -> None:
    codes = Coupled()
    futures = codes.all(
        sea=lambda ports, rank: ports.exchange("heat", np.zeros(3), BLOCKS, 1),
        air=lambda ports, rank: ports.exchange("below", np.zeros(rank), BLOCKS, 1),
    )
    assert {str(one) for one in failures(futures)} == {
        "sea gives 6 rows, and air takes 3. Both have the same rows, by their numbers"
    }
    futures = codes.all(
        sea=lambda ports, rank: ports.exchange("heat", np.zeros(3), BLOCKS, 1),
        air=lambda ports, rank: ports.exchange("below", np.zeros(2, np.float32), BLOCKS, 1),
    )
    assert {str(one).partition(".")[0] for one in failures(futures)} == {
        "sea gives rows of '<f8', and air takes rows of '<f4'"
    }


def test_what_one_rank_has_wrong_is_told_to_all_as_its_own() -> None:
    codes = Coupled()
    futures = codes.all(
        sea=lambda ports, rank: ports.exchange("heat", np.zeros(3), BLOCKS, 1),
        air=lambda ports, rank: ports.exchange("below", [1.0] if rank else np.zeros(2), BLOCKS, 1),
    )
    told = [str(one).partition(". ")[0] for one in failures(futures)]
    own = "a list cannot be exchanged"
    of_one = f"rank 1 of air cannot exchange sea.heat to air.below: {own}"
    assert told == [of_one, of_one, of_one, own, own]


def test_an_array_that_changes_its_size_is_refused_where_it_does() -> None:
    codes = Coupled()
    for one in codes.all(
        sea=lambda ports, rank: ports.exchange("heat", np.zeros(3), BLOCKS, 1),
        air=lambda ports, rank: ports.exchange("below", np.zeros(2), BLOCKS, 1),
    ):
        assert one.result(5)
    with pytest.raises(LayoutFault, match=r"4 rows of '<f8', blocks, and not 3 rows of '<f8'"):
        codes.ports["0:0:0"].exchange("heat", np.zeros(4), BLOCKS, 1)


def test_what_can_be_no_exchange_is_refused_before_anything_is_sent() -> None:
    ports = Coupled().ports["0:1:0"]
    with pytest.raises(NoSuchPort, match="no port 'belov' of air.*'below'"):
        ports.exchange("belov", np.zeros(2), BLOCKS, 1)
    with pytest.raises(LayoutFault, match="a list cannot be exchanged"):
        ports.exchange("below", [1.0, 2.0], BLOCKS, 1)
    with pytest.raises(LayoutFault, match="cannot be written to"):
        ports.exchange("below", b"1234", BLOCKS, 1)
    with pytest.raises(LayoutFault, match="every=0 is no number of calls"):
        ports.exchange("below", np.zeros(2), BLOCKS, 0)


def test_messages_of_exchanges_are_received_by_nothing_else() -> None:
    codes = Coupled()
    taking = later(lambda: codes.ports["0:1:0"].exchange("below", np.zeros(2), BLOCKS, 1))
    box = codes.boxes["0:0:0"]
    declared = "exchange", str(LINKS[0]), 0
    assert box.receive("air", 0, declared, timeout=5).code == "air"
    codes.boxes["0:1:0"].send("to the program", "sea", 0, 3)
    box.send("of an exchange", "sea", 0, declared)
    assert box.receive(ANY, timeout=5).value == "to the program"
    assert not box.has(ANY)
    codes.boxes.registry.ended("sea", "the test is over")
    assert isinstance(failures([taking])[0], CodeEnded)


def test_a_rank_that_ends_before_the_first_exchange_ends_that_of_all_others() -> None:
    codes = Coupled()
    futures = codes.all(sea=lambda ports, rank: ports.exchange("heat", np.zeros(3), BLOCKS, 1))
    codes.boxes.registry.rank_ended("air", 0, "exit code 3")
    codes.boxes.registry.ended("air", "exit code 3")
    for one in failures(futures):
        assert isinstance(one, CodeEnded)
        assert (one.code, one.cause) == ("air", "exit code 3")


def test_codes_agree_again_once_a_rank_is_another_process() -> None:
    codes = Coupled()

    def give(value: float) -> Callable[[RankPorts, int], bool]:
        return lambda ports, rank: ports.exchange("heat", np.full(3, value), BLOCKS, 1)

    def take(ports: RankPorts, rank: int) -> list[float]:
        below = np.zeros(2)
        ports.exchange("below", below, BLOCKS, 1)
        return below.tolist()

    taken = [one.result(5) for one in codes.all(sea=give(1.0), air=take)]
    assert taken[2:] == [[1.0, 1.0]] * 3
    # one rank of the sea has given its part of the second exchange when a rank of the air is lost
    assert later(lambda: give(2.0)(codes.ports["0:0:0"], 0)).result(5)
    waiting = later(lambda: take(codes.ports["0:1:1"], 1))
    codes.start_again("0:1:0", 2)
    assert isinstance(failures([waiting])[0], CodeEnded)
    # who is behind leaves out what others have given to processes that are no more
    rest = later(lambda: [give(value)(codes.ports["0:0:1"], 1) for value in (2.0, 3.0)])
    first = later(lambda: give(3.0)(codes.ports["0:0:0"], 0))
    taken = [one.result(5) for one in codes.all(air=take)]
    assert taken == [[3.0, 3.0]] * 3
    assert first.result(5)
    assert rest.result(5) == [True, True]


def test_a_port_gives_to_all_that_take_from_it() -> None:
    codes = Coupled(LINKS)
    ice = RankPorts(codes.boxes["1:1:0"])
    whole = np.zeros(6)
    taking = later(lambda: ice.exchange("below", whole, BLOCKS, 1))
    for one in codes.all(
        sea=lambda ports, rank: ports.exchange("heat", np.arange(3.0) + 3 * rank, BLOCKS, 1),
        air=lambda ports, rank: ports.exchange("below", np.zeros(2), BLOCKS, 1),
    ):
        assert one.result(5)
    assert taking.result(5)
    assert whole.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@pytest.mark.parametrize("seed", range(30))
def test_a_value_of_one_rank_reaches_each_other_one_once(seed: int) -> None:
    rng = random.Random(seed)
    sizes = {name: rng.randint(1, 9) for name in "abc"[: rng.randint(1, 3)]}
    everybody = [(name, rank) for name, size in sizes.items() for rank in range(size)]
    root = rng.choice(everybody)
    sent = Counter[Any]()
    for me in everybody:
        parent, children = relations(me, root, sizes)
        sent.update(children)
        assert (parent is None) == (me == root)
        assert all(relations(child, root, sizes)[0] == me for child in children)
    assert sent == Counter(one for one in everybody if one != root)


def test_all_ranks_get_what_one_has() -> None:
    codes = Coupled()
    boxes = [codes.boxes[name] for _, name in MEMBERS] + [codes.boxes["1:1:0"]]
    futures = [later(lambda box=box: broadcast(box, box.peers.me, "air", 2)) for box in boxes]  # type: ignore[misc]  # a default of a lambda
    assert [one.result(5) for one in futures] == [("air", 2)] * 6


def test_a_setting_that_is_not_there_or_not_so_names_what_is() -> None:
    known = {"sea": {"depth": "deep"}}
    with pytest.raises(UnknownSetting, match=r"gives sea no setting 'dept'.*'depth'"):
        setting_of("sea", known, "dept", str)
    with pytest.raises(UnknownSetting, match=r"'depth' of sea cannot be 'deep'\n    ValueError"):
        setting_of("sea", known, "depth", int)
    with pytest.raises(UnknownSetting, match='Add <setting name="depth"'):
        setting_of("air", known, "depth", int)
