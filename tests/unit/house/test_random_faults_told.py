"""What `python -m tools.random_faults` tells of the runs that it has played."""

from __future__ import annotations

import json

from tools.random_faults import KINDS, Played, table

LINE = {
    "seed": 7, "run": 3, "layout": "1|2", "program": "ring", "fault": "cut", "victim": 0,
    "moment": 4, "failures": "abort", "kind": "network", "is_early": False, "took": 8.5,
    "code": 204, "cause": "the line is cut", "found": [],
}  # fmt: skip


def played(**changes: object) -> Played:
    one = Played.parse(json.dumps(LINE | changes))
    assert one is not None
    return one


def test_a_run_is_told_in_a_line_with_what_was_wrong_below() -> None:
    assert str(played()) == (
        "run 3: cut, ring on 1|2 with failures=abort: exit code 204 (the line is cut) after 8.5 s"
    )
    assert str(played(is_early=True, cause="", found=["it hangs", "left behind: job 7"])) == (
        "run 3: cut, ring on 1|2 with failures=abort, while it starts: exit code 204 after 8.5 s"
        "\n    WRONG: it hangs\n    WRONG: left behind: job 7"
    )


def test_what_others_write_is_no_run() -> None:
    for line in ("", "slurmctld: error", "17", "[]", '{"run": 3}'):
        assert Played.parse(line) is None


def test_runs_are_counted_by_fault() -> None:
    runs = [played(), played(fault="loss", code=0), played(code=1, took=60.0, found=["it hangs"])]
    assert list(table(runs)) == [
        "cut                       2 runs, 1 wrong,    60 s at most, codes 1, 204",
        "loss                      1 runs, 0 wrong,   8.5 s at most, codes 0",
        "3 runs, 1 wrong",
    ]
    assert list(table([])) == ["0 runs, 0 wrong"]


def test_the_kinds_are_those_of_the_bench() -> None:
    from tests.faults.random_faults import KINDS as PLAYED  # loads real Slurms and labs

    assert tuple(PLAYED) == KINDS
