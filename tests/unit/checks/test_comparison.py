"""Calls of several ranks are compared by their order, whichever rank reports first."""

from __future__ import annotations

from array import array
from typing import Any

import pytest

from runtime.checks.comparison import CallComparison
from runtime.checks.reports import (
    ANY_SOURCE,
    NO_ROOT,
    OTHERS_AWAITED,
    SENDS_AWAITED,
    report_from,
)

RANKS = ["0:0:0", "0:0:1", "0:0:2"]
WORLD = ["world", "MPI_COMM_WORLD", "", RANKS, RANKS]


def bcast(root: int = 0, kind: str = "float64", size: int = 8, line: int = 1) -> list[Any]:
    return ["Bcast", f"a.py:{line}", "Bcast", root, kind, size, ""]


def barrier(name: str = "Barrier", line: int = 1) -> list[Any]:
    return [name, f"a.py:{line}", "Barrier", -1, "", None, ""]


def report(*calls: list[Any], comm: list[Any] | None = None, code: int | None = None) -> Any:
    numbered = dict(enumerate(calls))
    packed = array("I", numbered).tobytes()
    return report_from(
        {"communicators": {1: comm or WORLD}, "calls": numbered, "collectives": [[1, packed]]}
        | ({} if code is None else {"code": code})
    )


def kinds(*reports: tuple[int, Any]) -> list[str]:
    compared = CallComparison()
    return [one.kind for rank, told in reports for one in compared.add(RANKS[rank], told)]


@pytest.mark.parametrize(
    "other",
    [
        barrier(),
        bcast(root=1),
        bcast(kind="int64"),
        bcast(size=16),
        ["Bcast", "a.py:1", "Bcast", 0, "float64", 8, "SUM"],
    ],
    ids=["operation", "root", "type", "size", "reduction"],
)
def test_a_call_that_does_not_fit_the_first_one_is_a_fault(other: list[Any]) -> None:
    first = ["Bcast", "a.py:1", "Bcast", 0, "float64", 8, "MAX"]
    assert kinds((0, report(first)), (1, report(other))) == ["collective"]


def test_what_is_not_known_of_a_call_fits() -> None:
    unknown = ["Bcast", "a.py:2", "Bcast", 0, "", None, ""]
    assert not kinds((0, report(bcast())), (1, report(unknown)))


def test_a_call_that_blocks_meets_none_that_does_not() -> None:
    assert kinds((0, report(barrier())), (1, report(barrier("Ibarrier")))) == ["blocking"]


def test_a_fault_on_the_same_lines_is_told_once() -> None:
    loop = [bcast(), bcast(), bcast()]
    other = [bcast(root=1)] * 3
    assert kinds((0, report(*loop)), (1, report(*other)), (2, report(*other))) == ["collective"]


def test_a_call_that_does_not_fit_at_several_ranks_is_told_once() -> None:
    """Whoever comes first, and on whatever lines they are."""
    roots = [(rank, report(bcast(root=rank, line=rank))) for rank in range(3)]
    assert kinds(*roots) == kinds(*reversed(roots)) == ["collective"]


def test_a_loop_whose_roots_differ_in_each_turn_is_told_once() -> None:
    loops = [(rank, report(*(bcast(root=(rank + turn) % 3) for turn in range(3))))
             for rank in range(3)]  # fmt: skip
    assert kinds(*loops) == ["collective"]


def test_what_a_rank_finds_itself_is_told_once_of_several_ranks() -> None:
    own = report_from({"faults": [["freed", "a window is never freed", "Create (a.py:1)"]]})
    assert kinds((0, own), (1, own)) == ["freed"]


def test_nothing_is_told_of_what_follows_another_operation() -> None:
    assert kinds((0, report(barrier(), bcast())), (1, report(bcast(), barrier()))) == ["collective"]


def test_nothing_that_ranks_do_after_a_first_fault_is_another() -> None:
    """Here a root is another one, so that what is received and all that is made of it differs."""
    other = ["child", "", "", RANKS, RANKS]
    wrong = (0, report(bcast())), (1, report(bcast(root=1)))
    for later in (
        [(0, report(bcast(size=8))), (1, report(bcast(size=16)))],
        [(0, report(bcast(), comm=other)), (1, report(barrier(), comm=other))],
        [(0, messages("sends", 1, "float64", 32, 1)), (1, messages("receives", 0, "int64", 8, 1))],
        [(0, report(barrier(), code=0)), (1, report(barrier(), barrier()))],
    ):
        assert kinds(*wrong, *later) == ["collective"]
        assert len(kinds(*later)) == 1


def test_what_a_rank_finds_itself_is_told_beside_the_faults_of_several() -> None:
    own = report_from({"faults": [["freed", "a window is never freed", "Create (a.py:1)"]]})
    wrong = (0, report(bcast())), (1, report(bcast(root=1)))
    assert kinds(*wrong, (0, own)) == kinds((0, own), *wrong)[::-1] == ["collective", "freed"]


@pytest.mark.parametrize(
    ("awaited", "is_fault"),
    [(SENDS_AWAITED, True), (OTHERS_AWAITED, False), (NO_ROOT, False)],
    ids=["sends", "sends and receives", "begun on the line"],
)
def test_a_wait_for_sends_alone_relies_on_buffers(awaited: int, is_fault: bool) -> None:
    compared = CallComparison()
    calls = {1: ["Isend", "a.py:1", "", awaited, "float64", 32, ""]}
    compared.add(RANKS[0], report_from({"calls": calls}))
    assert (compared.stuck(RANKS[0], "a.py:1") is not None) == is_fault
    assert compared.may_rely_on_buffers(RANKS[0], "a.py:1")
    assert not compared.may_rely_on_buffers(RANKS[0], "a.py:2")
    fault = compared.stuck(RANKS[0], "a.py:1", for_sends_alone=True)  # all messages have come
    assert (fault is not None) == (awaited != NO_ROOT)
    assert fault is None or fault.calls == ("Isend, 4 x float64 (a.py:1)",)


def test_nobody_relies_on_buffers_who_waits_for_a_rank_that_has_failed() -> None:
    compared = CallComparison()
    compared.add(RANKS[0], report_from({"calls": {1: ["Send", "a.py:1", "", -1, "", 8, ""]}}))
    assert compared.stuck(RANKS[0], "a.py:1")
    compared.add(RANKS[1], report_from({"code": 1}))
    assert compared.stuck(RANKS[0], "a.py:1") is None


def test_a_rank_that_ends_before_a_call_of_another_misses_it() -> None:
    assert kinds((0, report(barrier(), code=0)), (1, report(barrier(), barrier()))) == ["calls"]
    assert kinds((1, report(barrier(), barrier())), (0, report(barrier(), code=0))) == ["calls"]


def test_a_rank_that_fails_misses_nothing() -> None:
    assert not kinds((0, report(barrier(), code=1)), (1, report(barrier(), barrier())))


def test_a_communicator_of_one_that_is_out_of_step_is_not_compared() -> None:
    child = ["child", "", "world", RANKS, RANKS]
    compared = CallComparison()
    compared.add(RANKS[0], report(barrier()))
    assert compared.add(RANKS[1], report(bcast()))
    assert not compared.add(RANKS[0], report(barrier(), comm=child))
    assert not compared.add(RANKS[1], report(bcast(), comm=child))


def messages(way: str, peer: int, kind: str, size: int | None, count: int) -> Any:
    return report_from(
        {
            "communicators": {1: WORLD},
            "calls": {1: [way, f"{way}.py:1", "", -1, kind, size, ""]},
            way: [[1, peer, 7, [[1, count]]]],
        }
    )


@pytest.mark.parametrize(
    ("kind", "size", "found"),
    [
        ("float64", 32, []),
        ("float64", 99, []),
        ("", 32, []),
        ("int64", 32, ["type"]),
        ("object", None, ["type"]),
        ("float64", 8, ["length"]),
    ],
)
def test_a_message_is_compared_with_the_receive_of_its_number(
    kind: str, size: int | None, found: list[str]
) -> None:
    sent, received = messages("sends", 1, "float64", 32, 3), messages("receives", 0, kind, size, 2)
    assert kinds((0, sent), (1, received)) == found
    assert kinds((1, received), (1, received), (0, sent)) == found


@pytest.mark.parametrize("plain", [{"calls": {1: ["Barrier"]}}, {"collectives": [[1, b"abc"]]}])
def test_what_is_no_report_is_refused(plain: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        report_from(plain)


def test_a_message_that_a_receive_might_have_taken_has_to_fit_it_too() -> None:
    receives = report_from(
        {
            "communicators": {1: WORLD},
            "calls": {
                1: ["Recv", "a.py:1", "", ANY_SOURCE, "float64", 32, ""],
                2: ["Recv", "a.py:2", "", ANY_SOURCE, "float64", 99, ""],
            },
            "choices": [[1, 1, [[1, 7, 0], [2, 7, 0]]]],
            "receives": [[1, 1, 7, [[1, 1]]], [1, 2, 7, [[2, 1]]]],
        }
    )
    short, long = (messages("sends", 0, "float64", size, 1) for size in (32, 64))
    compared = CallComparison()
    assert not [*compared.add(RANKS[0], receives), *compared.add(RANKS[1], short)]
    (fault,) = compared.add(RANKS[2], long)
    assert fault.kind == "order"
    assert fault.calls == ("sends, 8 x float64 (sends.py:1)",
                           "Recv from any source, 4 x float64 (a.py:1)")  # fmt: skip
    assert len(compared.choices) == 1


def test_a_rank_waits_for_a_message_that_a_receive_from_any_source_has_taken() -> None:
    taken = report_from(
        {
            "communicators": {1: WORLD},
            "calls": {
                1: ["recv", "a.py:1", "", ANY_SOURCE, "object", None, ""],
                2: ["recv", "a.py:2", "", -1, "object", None, ""],
            },
            "choices": [[1, 1, [[1, 7, 0], [2, 7, 0]]]],
            "receives": [[1, 1, 7, [[1, 1]]]],
        }
    )
    compared = CallComparison()
    compared.add(RANKS[0], taken)
    fault = compared.stuck(RANKS[0], "a.py:2")
    assert fault is not None
    assert (fault.kind, fault.ranks) == ("order", (RANKS[0], RANKS[1]))
    assert compared.stuck(RANKS[0], "a.py:1") is None  # any message would do there
