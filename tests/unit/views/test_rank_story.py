"""The life of one rank, told from the facts of its run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.deployment import DeploymentPlan
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.rank_name import RankName
from runtime.views.facts import (
    AwaitedPart,
    CallsCounted,
    CallSeen,
    Fact,
    MessagesCounted,
    OutputWritten,
    RankSeen,
    RankStarted,
    RankUsed,
    RunEnded,
    RunPlanned,
    StateChanged,
    WaitExplained,
)
from runtime.views.rank_story import RankStory, UnknownRank, find_rank

Plan = Callable[..., DeploymentPlan]
TWO = '<emulate sites="2" clusters="1" ranks="1"/>'
RECV = CallSeen("recv", "recv from rank 0 (a.py:3)", 1.5, "a.py:3", "", (
    AwaitedPart("receive", "0:0:0", 7),
))  # fmt: skip
DEATH = RankDeath(RankName(1, 0, 0), Observation(Witness.PARENT, 137, 9))


def test_a_rank_is_found_by_its_number_or_its_name(plan: Plan) -> None:
    planned = RunPlanned.of(plan(TWO))
    assert find_rank(planned, "1") == find_rank(planned, "1:0:0") == "1:0:0"
    with pytest.raises(UnknownRank, match="the run has no rank '2', but 2 ranks from 0 on"):
        find_rank(planned, "2")


def test_a_story_has_what_happened_to_the_rank_and_leaves_out_others(plan: Plan) -> None:
    story = RankStory("1:0:0")
    for time, name, record in (
        (0.0, "", RunPlanned.of(plan(TWO))),
        (0.1, "1:0", StateChanged("starting", "front-end")),
        (0.1, "0:0", StateChanged("starting", "front-end")),
        (0.5, "1:0:0", RankStarted("n7", 42, "MPICH Version:      5.0")),
        (0.6, "0:0:0", RankStarted("n1", 41, "MPICH")),
        (1.0, "1:0:0", StateChanged("running")),
        (1.1, "1:0:0", OutputWritten("stdout", b"begin\n")),
        (3.0, "1:0:0", RankSeen("in recv", calls=(RECV,))),
        (4.0, "1:0:0", RankSeen("in recv", calls=(RECV,))),
        (5.0, "1:0:0", RankSeen("at rest")),
        (6.0, "", WaitExplained("cycle", "they wait:", ("0:0:0", "1:0:0"), "for ever")),
        (7.0, "1:0:0", MessagesCounted("0:0:0", (), 1, 3, 400)),
        (7.0, "1:0:0", CallsCounted("recv", 2, 4.0)),
        (7.0, "1:0:0", RankUsed(50_000_000, 2.5)),
        (7.0, "1:0:0", DEATH),
        (7.0, "1:0:0", StateChanged("failed", DEATH.how)),
        (8.0, "", RunEnded(137)),
    ):
        story.take(Fact(time, name, record))
    assert "\n".join(story.lines()) == (
        """\
rank 1 (site1/cluster0 0), in seconds since the beginning of the run:
     0.10  its cluster is being reached
     0.50  starts as process 42 on n7, with MPICH 5.0
     1.00  running
     1.10  writes: begin
     3.00  waits in recv from rank 0 (a.py:3), since 1.5 s
     5.00  goes on
     6.00  they wait:
           for ever
     7.00  ends: was killed by SIGKILL
     7.00  failed, was killed by SIGKILL
     8.00  the run ends with exit code 137
           Of 6.00 s it computed for 2.00 s and was in MPI for 4.00 s, 0.00 s of them waiting.
           It had 50 MB at most, and used 2.50 s of a processor.
           It sent 3 messages with 400 bytes over the wire, to 1 rank of other clusters."""
    )
