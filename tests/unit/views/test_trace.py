"""The trace of a run: rows, slices, arrows and marks, from the facts alone."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.matching.traced import ROW
from runtime.rank_name import RankName
from runtime.topology.rank_names import NamedCluster
from runtime.views.facts import (
    CallsTraced,
    Fact,
    MessagesCounted,
    PlannedCluster,
    PlannedSite,
    RankStarted,
    RunEnded,
    RunPlanned,
    TracedCommunicator,
    WaitExplained,
)
from runtime.views.otf2_archive import write_archive
from runtime.views.trace import Trace
from tests.unit.views.told import change, fact

CEDAR = PlannedCluster(NamedCluster("s/cedar", 0), "ocean", ("n1", "n1"))
FIR = PlannedCluster(NamedCluster("s/fir", 2), "ocean", ("n2",))
PLANNED = fact("", RunPlanned("ring", (PlannedSite("s", (CEDAR, FIR)),)))
WORLD = TracedCommunicator("WORLD", "w", ("0:0:0", "0:0:1", "0:1:0"))
CALLS = (("Send", "send"), ("recv", "receive"), ("Irecv", "post"), ("Wait", "wait"),
         ("bcast", "collective"), ("", "(received)"))  # fmt: skip
PLANS = ("native", "tree")
SEND, RECEIVE, POST, WAIT, BROADCAST, RECEIVED = range(6)
NONE = -1


def calls(rank: str, *rows: tuple[Any, ...], begun: float = 1.0, dropped: int = 0) -> Fact:
    packed = b"".join(ROW.pack(*one) for one in rows)
    return fact(rank, CallsTraced(begun, 0.0, CALLS, (WORLD,), dropped, packed, PLANS), 9.0)


def document(*facts: Fact) -> dict[str, Any]:
    trace = Trace()
    for one in (PLANNED, *facts):
        trace.take(one)
    found: dict[str, Any] = json.loads(b"".join(trace.lines()))
    return found


def events(*facts: Fact, kinds: str = "Xisf") -> list[dict[str, Any]]:
    return [one for one in document(*facts)["traceEvents"] if one["ph"] in kinds]


def test_each_rank_and_each_front_end_has_a_row_in_its_cluster() -> None:
    named = [one for one in events(kinds="M") if one["name"] != "process_sort_index"]
    assert [(one["pid"], one["tid"], one["args"]["name"]) for one in named] == [
        (1, 0, "s/cedar (ocean)"), (1, 1, "front-end"), (1, 2, "rank 0"), (1, 3, "rank 1"),
        (2, 0, "s/fir (ocean)"), (2, 2, "front-end"), (2, 3, "rank 2"),
    ]  # fmt: skip


def test_calls_and_states_are_slices_in_microseconds() -> None:
    found = events(
        change("0:1", "starting", "front-end", time=0.5), change("0:1", "up", time=2.0),
        calls("0:0:1", (0.5, 0.75, BROADCAST, 0, 2, 1, 80),
              (0.8, 0.9, BROADCAST, 0, 2, NONE, 80)),
    )  # fmt: skip
    states = [(one["pid"], one["tid"], one["name"], one["ts"], one["dur"]) for one in found[:2]]
    assert states == [(2, 2, "starting", 5e5, 1.5e6), (2, 2, "up", 2e6, 7e6)]
    assert found[2] == {
        "ph": "X", "pid": 1, "tid": 3, "ts": 1.5e6, "dur": 2.5e5, "name": "bcast",
        "cat": "collective",
        "args": {"communicator": "WORLD", "root": 2, "plan": "tree", "bytes": 80},
    }  # fmt: skip
    assert "plan" not in found[3]["args"]


def test_an_arrow_leads_from_a_send_to_the_wait_that_completed_its_receive() -> None:
    found = events(
        calls("0:0:0", (0.1, 0.2, SEND, 0, 2, 7, 80)),
        calls("0:1:0", (0.0, 0.1, POST, 0, NONE, NONE, NONE), (0.3, 0.5, WAIT, 0xFFFF, -1, -1, -1),
              (0.0, 0.5, RECEIVED, 0, 0, 7, 80)),
        fact("0:0:0", MessagesCounted("0:1", ("0:0", "0:1"), 1, 1, 80)),
        kinds="sf",
    )  # fmt: skip
    start, end = found
    assert (start["ph"], start["pid"], start["tid"], start["ts"]) == ("s", 1, 2, 1.1e6)
    assert (end["ph"], end["pid"], end["tid"], end["bp"]) == ("f", 2, 3, "e")
    assert 1.3e6 < end["ts"] < 1.5e6
    assert start["id"] == end["id"]
    assert start["args"] == {
        "route": "through s/cedar, s/fir", "tag": 7, "bytes": 80, "from": "rank 0 (s/cedar 0)",
        "to": "rank 2 (s/fir 0)",
    }  # fmt: skip


def test_what_happens_to_ranks_and_to_the_run_is_a_mark() -> None:
    death = RankDeath(RankName(0, 1, 0), Observation(Witness.PARENT, 139, 11))
    found = events(
        fact("0:1:0", RankStarted("n2", 7, "MPICH")), fact("0:1:0", death, 2.0),
        fact("0:1:0", RankStarted("n2", 8, "MPICH"), 3.0),
        fact("", WaitExplained("cycle", "they wait", ("0:0:0",), "for ever"), 4.0),
        fact("", RunEnded(139, ("it failed",)), 5.0), kinds="i",
    )  # fmt: skip
    assert [(one["name"], one["s"], one["ts"]) for one in found] == [
        ("failed", "t", 2e6), ("started again", "t", 3e6), ("wait: cycle", "t", 4e6),
        ("exit code 139", "t", 5e6),
    ]  # fmt: skip


def test_it_tells_what_was_dropped_and_how_exact_the_times_are() -> None:
    far = CallsTraced(1.0, 0.004, CALLS, (WORLD,), 12, b"")
    other = document(fact("0:1:0", far), calls("0:0:0"))["otherData"]
    assert other["error of clocks"] == {"rank 2 (s/fir 0)": 0.004}
    assert other["older calls that were dropped"] == {"rank 2 (s/fir 0)": 12}


def test_rows_that_no_rank_of_ours_tells_are_left_out() -> None:
    odd = ((float("nan"), 1.0, SEND, 0, 2, 7, 80), (0.0, 1.0, 99, 0, 2, 7, 80),
           (0.0, 1.0, SEND, 5, 2, 7, 80), (0.0, 1.0, SEND, 0, 77, 7, 80))  # fmt: skip
    found = events(calls("0:0:0", *odd), calls("9:9:9", odd[2]))
    assert [(one["ph"], one["name"]) for one in found] == [("X", "Send")] * 2


def test_an_archive_is_read_back_by_the_package_that_wrote_it(tmp_path: Path) -> None:
    otf2: Any = import_module("otf2")
    death = RankDeath(RankName(0, 1, 0), Observation(Witness.PARENT, 139, 11))
    trace = Trace()
    for one in (
        PLANNED,
        calls("0:0:0", (0.1, 0.2, SEND, 0, 2, 7, 80)),
        calls("0:1:0", (0.0, 0.1, POST, 0, NONE, NONE, NONE), (0.3, 0.5, WAIT, 0xFFFF, -1, -1, -1),
              (0.0, 0.5, RECEIVED, 0, 0, 7, 80)),
        fact("0:1:0", RankStarted("n2", 7, "MPICH")), fact("0:1:0", death, 2.0),
    ):  # fmt: skip
        trace.take(one)
    write_archive(trace.events(), str(tmp_path / "run"))
    found = []
    with otf2.reader.open(str(tmp_path / "run" / "traces.otf2")) as read:
        assert [one.name for one in read.definitions.locations] == [
            "front-end", "rank 0", "rank 1", "front-end", "rank 2",
        ]  # fmt: skip
        begun = read.definitions.clock_properties.global_offset
        for where, event in read.events:
            kind, seconds = type(event).__name__, (event.time - begun) / 1e9
            match kind:
                case "MpiSend":
                    what = (event.receiver, event.msg_tag, event.msg_length)
                case "MpiRecv":
                    what = (event.sender, event.msg_tag, event.msg_length)
                case _:
                    what = event.region.name
            found.append((where.name, round(seconds, 6), kind, what))
    assert [one for one in found if one[0] == "rank 0"] == [
        ("rank 0", 0.1, "Enter", "Send"), ("rank 0", 0.1, "MpiSend", (2, 7, 80)),
        ("rank 0", 0.2, "Leave", "Send"),
    ]  # fmt: skip
    assert [one[1:] for one in found if one[0] == "rank 2"] == [
        (0.0, "Enter", "Irecv"), (0.1, "Leave", "Irecv"), (0.3, "Enter", "Wait"),
        (0.5, "MpiRecv", (0, 7, 80)), (0.5, "Leave", "Wait"), (1.0, "Enter", "failed"),
        (1.0, "Leave", "failed"),
    ]  # fmt: skip
