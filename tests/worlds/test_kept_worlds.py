"""Worlds that once failed, as small as they were shrunk, each with what was wrong."""

from __future__ import annotations

import pytest

from runtime.testing.world.link_load import LinkFault, LinkFaultKind, LinkKind, LinkScenario
from runtime.testing.world.link_world import play_link
from runtime.testing.world.load import (
    ClusterShape,
    Fault,
    FaultKind,
    Pause,
    ProgramMessage,
    Scenario,
)
from runtime.testing.world.program_load import (
    Death,
    JointStep,
    ProgramScenario,
    ProgramStep,
    SurvivalKind,
)
from runtime.testing.world.program_world import play_program
from runtime.testing.world.run_load import RankScript, RunCluster, RunKind, RunScenario
from runtime.testing.world.run_world import play_run
from runtime.testing.world.simulation import play

INWARDS, OUTWARDS = ClusterShape(1, 0), ClusterShape(1, 1, is_outwards=True)

KEPT = {
    # A rank that had ended gave up a peer after 12 s, without a word to the launcher, though that
    # was only stopped, and was the one of the two who could dial: its last message was lost.
    "an end for a stopped peer": Scenario(
        1, (INWARDS, OUTWARDS),
        (ProgramMessage(0, 1, 10), ProgramMessage(1, 0, 10), Pause(0, 0.5),
         ProgramMessage(0, 1, 100)),
        (Fault(FaultKind.PAUSE, 0.5, 1, 25.0), Fault(FaultKind.CUT, 0.5, 0, 2.0),
         Fault(FaultKind.RESET, 0.9, 0)),
        latency=0.001, rate=1e7, room=64 << 10,
    ),
    # One that had been stopped was declared lost a second after it went on: over a slow line it
    # could not dial in that time.
    "a second after a standstill": Scenario(
        2, (INWARDS, OUTWARDS),
        (ProgramMessage(0, 1, 10),),
        (Fault(FaultKind.PAUSE, 0.31, 1, 25.0),),
        latency=0.2, rate=1e7, room=64 << 10,
    ),
    # Where clusters have routes to choose from, a rank that had sent something to one of its own
    # machine that had ended dialled it for sixteen seconds: the system's refusal was not seen.
    "a notice for one that has ended": Scenario(
        30073, (ClusterShape(2, 0), ClusterShape(1, 1), ClusterShape(1, 0)),
        (ProgramMessage(2, 1, 1), ProgramMessage(3, 0, 1),
         ProgramMessage(1, 3, 40, is_notice=True)),
        (),
        latency=0.01, rate=1e7, room=64 << 10,
    ),
    # A rank at its end asked one to dial that had ended, and waited for 22 s until it suspected it.
    "a notice for one that alone could dial, and has ended": Scenario(
        314, (INWARDS, OUTWARDS),
        (Pause(0, 0.5), ProgramMessage(0, 1, 40, is_notice=True)),
        (),
        latency=0.001, rate=1e7, room=64 << 10,
    ),
    # The same where the host of the one that has ended refuses, as a firewall might: for 15 s.
    "a notice for one of another host that has ended": Scenario(
        5086, (INWARDS, ClusterShape(1, 1)),
        (Pause(0, 0.5), ProgramMessage(0, 1, 40, is_notice=True)),
        (),
        latency=0.001, rate=1e7, room=64 << 10,
    ),
    # The system took 8 of the first 20 bytes that were said on a connection: what came then was
    # read as the rest of them, and a rank that lived was lost.
    "the first words in two pieces": Scenario(
        13659, (ClusterShape(2, 0), ClusterShape(1, 1)),
        (ProgramMessage(2, 1, 1),),
        (Fault(FaultKind.SWALLOW, 0.5050254168428583, 96, other=79),),
        latency=0.05, rate=2e5, room=8 << 10,
    ),
    # The asker is told, too, where the other one ends only after it was asked for.
    "a notice for one that ends later": Scenario(
        315, (INWARDS, OUTWARDS),
        (Pause(1, 3.0, is_deaf=True), Pause(0, 0.5), ProgramMessage(0, 1, 40, is_notice=True)),
        (),
        latency=0.001, rate=1e7, room=64 << 10,
    ),
    # A rank was killed, others failed for it, and one beside it for these, before its parent told
    # of the kill: that was taken for the cleaning up of `mpiexec`, and a loss for the cause.
    "a kill that is told after what followed from it": Scenario(
        711230, (ClusterShape(2, 0), ClusterShape(2, 0)),
        (Pause(2, 3.0), ProgramMessage(1, 2, 1), ProgramMessage(2, 1, 0), ProgramMessage(2, 0, 1),
         ProgramMessage(1, 3, 0)),
        (Fault(FaultKind.PAUSE, 0.3290352553063151, 10, 9.0, other=93),
         Fault(FaultKind.KILL, 6.197716930845328, 66, other=42)),
        latency=0.01, rate=1e9, room=64 << 10,
    ),
}  # fmt: skip

KEPT_RUNS = {
    # The run ended, all had returned, while the front-end of a late cluster was being started. It
    # was ended, and counted as lost: a rank there that others had asked for failed the run.
    "a late front-end that starts as the run ends": RunScenario(
        4, RunKind.SURVIVES,
        (RunCluster(0, (RankScript(1.0),)), RunCluster(1, (RankScript(1.0),), granted_at=1.0)),
        asks_after=0.0,
    ),
    # The walltime of a job was nearly over, and its ranks were the only ones that still ran. It was
    # given up for another job, which nobody would have used: the run ended well, without waiting
    # for a front-end that lived. Before that the rank was told that its time is not limited.
    "the last ranks that run lose their job": RunScenario(
        206, RunKind.SURVIVES,
        (RunCluster(0, (RankScript(4.0),)),
         RunCluster(1, (RankScript(9.0),), granted_at=0.6, walltime=6.0, again=2)),
    ),
}  # fmt: skip

KEPT_PROGRAMS = {
    # A rank that was started again was invited to a communicator with another one, of which its own
    # front-end had not told it yet: it ended with an IndexError.
    "an invitation that comes before word of another member": ProgramScenario(
        383, SurvivalKind.SURVIVES, 4, (ProgramStep(JointStep.ALLREDUCE, 1, 400),),
        (Death(0.027231071863173462, 25), Death(0.8480827626123377, 57, is_newest=True),
         Death(0.8941051924224104, 20, is_newest=True)),
        latency=0.02, starts=0.02, slow_site=1, slowness=8.0, told=0.5,
    ),
    # A replica at its end asked whether another process had ended, by a place among ranks: an
    # IndexError ended a run that nothing had happened to.
    "a replica that asks at its end whether another one has ended": ProgramScenario(
        151, SurvivalKind.RESTARTS, 3,
        (ProgramStep(JointStep.BARRIER, 1), ProgramStep(JointStep.ALLREDUCE, 0, 9000),
         ProgramStep(JointStep.ALLREDUCE, 0, 400), ProgramStep(JointStep.RING, 0, 400)),
        latency=0.02, rate=1e7, told=0.5, slow_site=1, slowness=8.0,
    ),
    # Two that were started again waited for each other once all others had ended.
    "replacements that wait for each other": ProgramScenario(
        485, SurvivalKind.SURVIVES, 4,
        (ProgramStep(JointStep.ALLREDUCE, 2), ProgramStep(JointStep.ALLTOALL, 2),
         ProgramStep(JointStep.LATE, 0, seconds=0.05), ProgramStep(JointStep.ALLTOALL, 0, 400)),
        (Death(0.3173110496764949, 35), Death(0.3173110496764949), Death(0.3758143737933288),
         Death(2.375814373793329)),
        latency=0.02, starts=2.0, slow_start=0.5, slow_site=1, slowness=1.5, told=0.001,
    ),
    # All waited for a replica that was started again, and computed before its first checkpoint.
    "a restarted replica before its first checkpoint": ProgramScenario(
        161, SurvivalKind.RESTARTS, 2,
        (ProgramStep(JointStep.ALLTOALL, 0, 120_000), ProgramStep(JointStep.LATE, 1, seconds=0.4),
         ProgramStep(JointStep.ALLREDUCE, 0, 9000)),
        (Death(0.29201904839234233, 47), Death(0.29201904839234233), Death(0.5650345638023264),
         Death(2.5650345638023264)),
        latency=0.02, starts=2.0, slow_start=20.0, slow_site=0, slowness=1.5, told=0.001,
    ),
}  # fmt: skip

KEPT_LINKS = {
    # The world blamed the rank for giving up: what strikes after a second did not count as early,
    # but the cut lets the first words through only when the other end stands still.
    "a cut that delays opening until the other end stands still": LinkScenario(
        1098, LinkKind.RANK, (),
        (LinkFault(LinkFaultKind.CUT_ONE_WAY, 0.17, 5.0),
         LinkFault(LinkFaultKind.PAUSE, 1.06, 30.0)),
        latency=0.1, rate=1e9, room=8 << 10,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_a_world_that_once_failed_is_right(name: str) -> None:
    assert play(KEPT[name]).failures == ()


@pytest.mark.parametrize("name", KEPT_RUNS)
def test_a_run_that_once_failed_is_right(name: str) -> None:
    assert play_run(KEPT_RUNS[name]).failures == ()


@pytest.mark.parametrize("name", KEPT_PROGRAMS)
def test_a_program_that_once_failed_is_right(name: str) -> None:
    assert play_program(KEPT_PROGRAMS[name]).failures == ()


@pytest.mark.parametrize("name", KEPT_LINKS)
def test_a_link_that_once_failed_is_right(name: str) -> None:
    assert play_link(KEPT_LINKS[name]).failures == ()
