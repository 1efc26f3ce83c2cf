"""The machine of a run, told as scripts: what happens (>), and what it leads to, line by line."""

from __future__ import annotations

import dataclasses
import shlex
import textwrap
from collections.abc import Callable

import pytest

from runtime.exit_codes import LOST, OUTPUT_FAILED
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.rank_name import RankName
from runtime.run import events
from runtime.run.events import (
    Announce,
    Begin,
    Condemn,
    CondemnRank,
    Discard,
    Effect,
    Event,
    Explain,
    Finish,
    GiveUp,
    Go,
    Kill,
    LeftBehind,
    Show,
    Signal,
    Start,
    Stop,
    TellUnreachable,
)
from runtime.run.failure_report import messages
from runtime.run.failures import Failures
from runtime.run.outline import Outline
from runtime.run.run_life import RunPhase
from runtime.run.state import TRANSITIONS, IllegalEvent, RunState, RunTimeouts
from runtime.run.walltimes import Walltime
from runtime.topology import NamedCluster, RankNames

TIMEOUTS = RunTimeouts(start=100, settle=5, grace=6)


def outline(*clusters: str, closing: tuple[str, ...] = (), has_assembly: bool = False) -> Outline:
    """Clusters of two ranks each: front-ends, then ranks, then one handshake, then the start."""
    steps: dict[str, frozenset[str]] = {f"front-end:{one}": frozenset() for one in clusters}
    steps |= {f"ranks:{one}": frozenset({f"front-end:{one}"}) for one in clusters}
    steps["handshake:grid"] = frozenset(f"ranks:{one}" for one in clusters)
    steps["start"] = frozenset({"handshake:grid"})
    ranks = {one: (f"{one}:0", f"{one}:1") for one in clusters}
    return Outline(
        steps=steps,
        start="start",
        places={f"front-end:{one}": one for one in clusters},
        ranks=ranks,
        paths={step: f"/{step.partition(':')[2]}" for step in (*steps, *closing)},
        rank_paths={rank: f"/{rank}" for names in ranks.values() for rank in names},
        closing=closing,
        has_assembly=has_assembly,
    )


def read(line: str) -> tuple[float | None, Event]:
    """Read `> RankEnded 0:0:1 7` or `> at 100 Tick`."""
    words = shlex.split(line.removeprefix(">"))
    now = None
    if words[0] == "at":
        now, words = float(words[1]), words[2:]
    if words[0] == "PlaceGranted" and words[2:]:
        left, reserve, signal, before = words[2:]
        walltime = Walltime(float(left), float(reserve), signal, float(before))
        return now, events.PlaceGranted(words[1], walltime)
    if words[0] == "RankEnded":
        return now, death(words[1], int(words[2]), *words[3:])
    kind = getattr(events, words[0])
    types = [one.type for one in dataclasses.fields(kind)]
    kinds: dict[str, Callable[[str], object]] = {"int": int}
    given = [kinds.get(str(kind), str)(word) for word, kind in zip(words[1:], types, strict=False)]
    return now, kind(*given)


def death(
    rank: str,
    code: int,
    why: str = "",
    lost: str = "",
    *,
    by: Witness = Witness.PARENT,
    signal: int = 0,
    exception: str = "",
) -> RankDeath:
    missed = tuple(map(RankName.parse, lost.split(","))) if lost else ()
    observed = Observation(by, code, signal, why, exception, lost=missed)
    return RankDeath(RankName.parse(rank), observed)


def write(effect: Effect) -> str:
    match effect:
        case Show(path, state, detail):
            return f"{path} is {state} {detail}".rstrip()
        case Start(step):
            return f"start {step}"
        case Discard(step):
            return f"discard {step}"
        case Finish(code):
            return f"finish {code}"
        case Announce(death):
            return f"tell all that {death.who} {death.how} ({death.code})"
        case Condemn(cluster, why):
            return f"condemn {cluster} {why}"
        case CondemnRank(rank, why):
            return f"end {rank} {why}"
        case TellUnreachable(by, rank, why):
            return f"tell {by} that {rank} is lost to it: {why}"
        case Signal(cluster, signal):
            return f"send {cluster} {signal}"
        case Explain(is_brief=True):
            return "explain briefly"
        case Go() | Stop() | Kill() | Explain() | GiveUp():
            return type(effect).__name__.lower()


def said(machine: RunState) -> list[str]:
    """Return all messages about a run."""
    return [*messages(machine.failures, (), {}, machine.outline.names), *machine.errors]


def play(machine: RunState, script: str) -> None:
    """Let a script happen; every event has to lead to exactly the lines below it."""
    now, told, expected = 0.0, "", list[str]()
    lines = textwrap.dedent(script).strip().splitlines()
    trace: list[str] = []
    for line in lines:
        expected.append(line.strip())
        if not line.startswith(">"):
            continue
        at, event = read(line)
        now = now if at is None else at
        told = line.strip()
        trace += [told, *map(write, machine.handle(event, now))]
    assert trace == expected


UP = """
    > Begin
    /0:0 is starting front-end
    start front-end:0:0
    /1:0 is starting front-end
    start front-end:1:0
    > StepUp front-end:1:0
    /1:0 is up front-end
    /1:0 is starting ranks
    start ranks:1:0
    > StepUp front-end:0:0
    /0:0 is up front-end
    /0:0 is starting ranks
    start ranks:0:0
    > RankHere 0:0:0
    > RankReady 0:0:0
    /0:0:0 is ready
    > StepUp ranks:0:0
    /0:0 is up ranks
    > StepUp ranks:1:0
    /1:0 is up ranks
    /grid is starting handshake
    start handshake:grid
    > StepUp handshake:grid
    /grid is up handshake
    go
    /0:0:0 is running
    /0:0:1 is running
    /1:0:0 is running
    /1:0:1 is running
"""


@pytest.fixture
def started() -> RunState:
    machine = RunState(outline("0:0", "1:0"), TIMEOUTS)
    play(machine, UP)
    assert machine.state is RunPhase.RUNNING
    assert machine.deadline is None
    return machine


@pytest.fixture
def limited() -> RunState:
    machine = RunState(outline("0:0", "1:0"), dataclasses.replace(TIMEOUTS, run=50, explain=4))
    play(machine, UP)
    assert machine.deadline == 50
    return machine


QUEUED = UP.replace(
    "    > StepUp front-end:0:0",
    """\
    > PlaceQueued 0:0 'job 4 is PENDING'
    /0:0 is queued job 4 is PENDING
    > PlaceGranted 0:0 300 60 USR1 120
    /0:0 is starting front-end
    > StepUp front-end:0:0""",
)


def test_a_run_knows_the_walltime_of_a_job_and_ends_before_it() -> None:
    machine = RunState(outline("0:0", "1:0"), TIMEOUTS)
    play(machine, QUEUED)
    assert (machine.deadline, machine.due) == (None, 180)
    play(machine, "> at 180 Tick\nsend 0:0 USR1\n> at 181 Tick")
    assert machine.due == 240
    play(machine, "> at 240 Tick\nstop\n> PlaceClosed 1:0\n/1:0 is ended\n> PlaceClosed 0:0\n"
         "/0:0 is ended\nfinish 207")  # fmt: skip
    assert said(machine) == [
        "/0:0: its job has 60 s left, so the run was ended. Ask for more walltime, or let the"
        " program save its state (signal='USR1')"
    ]


def test_the_end_of_a_walltime_does_not_hide_what_has_failed_before() -> None:
    machine = RunState(outline("0:0", "1:0"), TIMEOUTS)
    play(machine, QUEUED)
    play(machine, "> at 239 RankEnded 0:0:0 3\n/0:0:0 is failed exit code 3\n"
         "tell all that 0:0:0 ended with exit code 3 (3)\n> at 240 Tick")  # fmt: skip
    assert machine.due == machine.deadline == 239 + TIMEOUTS.settle


def test_a_run_whose_time_is_over_is_explained_before_it_is_ended(limited: RunState) -> None:
    play(limited, "> at 49 Tick\n> at 50 Tick\nexplain\n> at 52 Explained\nstop")
    assert limited.errors == ["the application ran for more than 50 s, so it was ended"]
    play(limited, "> PlaceClosed 0:0\n/0:0 is ended\n> PlaceClosed 1:0\n/1:0 is ended\nfinish 124")


def test_a_run_in_which_ranks_wait_for_those_that_have_ended_is_ended(limited: RunState) -> None:
    play(limited, "> LeftBehind a_waits_for_b\nstop\n> LeftBehind a_waits_for_b")
    assert limited.errors == [
        "ranks wait for others that have ended, and would wait for ever:\n    a_waits_for_b"
    ]


def test_a_run_that_settles_ends_at_once_when_nobody_is_left_who_can_go_on() -> None:
    clusters = {"0:0": NamedCluster("a/b", 0), "1:0": NamedCluster("c/d", 2)}
    known = dataclasses.replace(outline("0:0", "1:0"), names=RankNames(clusters))
    started = RunState(known, TIMEOUTS)
    play(started, UP)
    play(
        started,
        """
        > at 49 RankEnded 0:0:0 7
        /0:0:0 is failed exit code 7
        tell all that 0:0:0 ended with exit code 7 (7)
        > at 50 LeftBehind a_waits_for_b
        """,
    )
    started.handle(LeftBehind("a waits for b", are_all=True), 51)
    assert started.state is RunPhase.ENDING
    assert "what was left of a/b, c/d waited for ranks that had ended" in " ".join(said(started))


def test_ranks_found_to_wait_for_ever_once_time_is_over_do_not_change_the_exit_code(
    limited: RunState,
) -> None:
    play(limited, "> at 50 Tick\nexplain\n> LeftBehind a_waits_for_b\n> at 52 Explained\nstop")
    assert limited.errors == ["the application ran for more than 50 s, so it was ended"]


def test_a_run_whose_time_is_over_ends_though_nobody_explains_it(limited: RunState) -> None:
    play(limited, "> at 50 Tick\nexplain\n> at 53 Tick\n> at 54 Tick\nstop\n> at 55 Explained")


def test_a_run_that_ends_while_it_is_explained_keeps_its_exit_code(limited: RunState) -> None:
    play(limited, "> at 50 Tick\nexplain")
    for cluster in ("0:0", "1:0"):
        limited.handle(read(f"> JobEnded {cluster} 0")[1], 51)
    play(
        limited,
        """
        > Explained
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 0
        """,
    )


def test_a_failure_near_the_end_of_the_time_gives_the_others_their_while(limited: RunState) -> None:
    play(
        limited,
        """
        > at 49 RankEnded 0:0:0 7
        /0:0:0 is failed exit code 7
        tell all that 0:0:0 ended with exit code 7 (7)
        > at 50 Tick
        > at 54 Tick
        stop
        """,
    )
    assert "did not end within 5 s" in " ".join(said(limited))


def test_whoever_reads_the_output_sets_the_pace_once_nothing_runs(limited: RunState) -> None:
    play(
        limited,
        """
        > at 10 OutputFollows 0:0
        > at 48 RankEnded 1:0:0 7
        /1:0:0 is failed exit code 7
        tell all that 1:0:0 ended with exit code 7 (7)
        > OutputFollows 1:0
        > at 900 Tick
        > RankEnded 1:0:1 0
        /1:0:1 is done exit code 0
        > at 2000 Tick
        > JobEnded 1:0 7
        /1:0 is failed exit code 7
        > at 3000 Tick
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        stop
        """,
    )
    assert (limited.deadline, limited.failures.stopped) == (3006, "")


def test_output_of_one_cluster_is_no_reason_to_wait_for_another_one(limited: RunState) -> None:
    play(
        limited,
        """
        > at 10 OutputFollows 0:0
        > RankEnded 0:0:0 7
        /0:0:0 is failed exit code 7
        tell all that 0:0:0 ended with exit code 7 (7)
        > at 15 Tick
        stop
        > at 21 Tick
        kill
        """,
    )
    words = " ".join(said(limited))
    assert "what was left of 1:0 did not end within 5 s" in words
    assert "the rest of the output of /0:0 is lost: nobody had read it by the end" in words


def test_a_run_that_is_stopped_waits_for_who_reads_its_output(started: RunState) -> None:
    play(
        started,
        """
        > at 10 Aborted 0:0:0
        stop
        > at 11 OutputFollows 0:0
        > at 12 PlaceClosed 1:0
        /1:0 is ended
        > at 71 Tick
        > OutputFollows 0:0
        > at 130 Tick
        > JobEnded 0:0 0
        > OutputPassedOn 0:0
        """,
    )
    assert started.deadline == 136
    play(started, "> PlaceClosed 0:0\n/0:0 is ended\nfinish 0")


def good_but_unread(machine: RunState) -> None:
    """Let all end well, with output left."""
    play(
        machine,
        """
        > at 10 JobEnded 0:0 0
        /0:0 is done exit code 0
        > OutputFollows 1:0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > OutputFollows 0:0
        > OutputFollows 1:0
        """,
    )


@pytest.mark.parametrize("end", ["> at 60 Interrupt", "> at 70 Tick"])
def test_unread_output_is_told_where_the_run_was_good(started: RunState, end: str) -> None:
    good_but_unread(started)
    play(started, f"{end}\nkill\n> PlaceClosed 0:0\n/0:0 is ended")
    play(started, "> PlaceClosed 1:0\n/1:0 is ended\nfinish 205")
    assert [one for one in said(started) if "is lost: nobody had read it" in one]


def test_a_front_end_that_ends_before_its_output_is_read_has_lost_it(started: RunState) -> None:
    good_but_unread(started)
    play(started, "> OutputPassedOn 0:0\n> PlaceClosed 0:0\n/0:0 is ended")
    play(started, "> PlaceClosed 1:0\n/1:0 is ended\nfinish 205")
    assert "the rest of the output of /1:0 is lost" in " ".join(said(started))


def test_output_does_not_delay_what_somebody_has_interrupted(started: RunState) -> None:
    play(started, "> at 10 OutputFollows 0:0\n> Interrupt\nexplain briefly\n> OutputFollows 1:0")
    play(started, "> at 11 Tick\nstop\n> OutputFollows 0:0\n> at 17 Tick\nkill")


def test_where_only_output_is_left_nobody_asks_what_ranks_do(started: RunState) -> None:
    play(started, "> at 10 OutputFollows 0:0\n> OutputFollows 1:0\n> Interrupt\nstop")
    play(started, "> at 16 Tick\nkill")


def test_a_run_that_goes_well(started: RunState) -> None:
    play(
        started,
        """
        > RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 0
        """,
    )
    assert started.state is RunPhase.DONE
    assert said(started) == []
    assert started.codes == {"0:0:0": 0}


def test_states_follow_each_other_and_the_start_has_a_deadline() -> None:
    machine = RunState(outline("0:0"), TIMEOUTS)
    seen = [machine.state]
    for event in ("Begin", "StepUp front-end:0:0", "StepUp ranks:0:0", "StepUp handshake:grid"):
        machine.handle(read(event)[1], 7.0)
        seen.append(machine.state)
    assert seen == [
        RunPhase.PLANNED,
        RunPhase.STARTING,
        RunPhase.HANDSHAKING,
        RunPhase.HANDSHAKING,
        RunPhase.RUNNING,
    ]


FETCHING = ("fetch:0:0", "fetch:1:0")


@pytest.fixture
def fetching() -> RunState:
    """A machine of two clusters that runs, and from which results come home."""
    machine = RunState(outline("0:0", "1:0", closing=FETCHING), TIMEOUTS)
    play(machine, UP)
    return machine


def test_results_come_home_of_each_place_once_nothing_runs_there(fetching: RunState) -> None:
    play(
        fetching,
        """
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:1:0
        > PlaceClosed 0:0
        /0:0 is ended
        start fetch:0:0
        > StepUp fetch:1:0
        > StepUp fetch:0:0
        finish 0
        """,
    )


def test_results_that_cannot_come_home_spoil_a_good_run(fetching: RunState) -> None:
    play(
        fetching,
        """
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        start fetch:0:0
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:1:0
        > StepUp fetch:1:0
        > StepFailed fetch:0:0 'no room'
        finish 205
        """,
    )
    assert said(fetching) == ["no room"]


def test_results_come_home_of_a_failed_run_whose_own_error_and_code_come_first(
    fetching: RunState,
) -> None:
    play(
        fetching,
        """
        > at 50 PlaceLost 0:0 'the link broke'
        /0:0 is lost
        stop
        start fetch:0:0
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:1:0
        > StepFailed fetch:0:0 'no way there'
        > StepUp fetch:1:0
        finish 204
        """,
    )
    assert said(fetching) == ["the link broke", "no way there"]


def test_no_time_limit_ends_what_comes_home(fetching: RunState) -> None:
    play(
        fetching,
        """
        > at 50 Interrupt
        explain briefly
        > Explained
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        start fetch:0:0
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:1:0
        > at 5000 Tick
        > StepUp fetch:0:0
        > StepUp fetch:1:0
        finish 130
        """,
    )
    assert fetching.deadline is None


def test_a_second_ctrl_c_gives_up_what_comes_home_but_not_the_first_one(
    fetching: RunState,
) -> None:
    play(
        fetching,
        """
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        start fetch:0:0
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:1:0
        > Interrupt
        > Interrupt
        giveup
        > Interrupt
        > StepFailed fetch:0:0 'given up'
        > StepUp fetch:1:0
        finish 205
        """,
    )


def test_the_first_bad_code_counts_and_the_others_get_a_while_to_end(started: RunState) -> None:
    play(
        started,
        """
        > at 50 RankEnded 1:0:1 7 why
        /1:0:1 is failed exit code 7
        tell all that 1:0:1 ended with exit code 7 (7)
        > at 51 RankEnded 1:0:0 9
        /1:0:0 is failed exit code 9
        tell all that 1:0:0 ended with exit code 9 (9)
        > at 51 JobEnded 1:0 9
        /1:0 is failed exit code 9
        > at 54.9 Tick
        > at 55 Tick
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 7
        """,
    )
    assert said(started) == [
        "1:0:1 failed first: exit code 7; why",
        "because of that what was left of 0:0 did not end within 5 s and was stopped",
        "1:0:0 failed by itself, too: exit code 9",
    ]


def test_a_rank_that_says_how_it_fails_is_not_taken_for_lost(started: RunState) -> None:
    said_so = death("1:0:1", 7, "why", by=Witness.RANK)
    assert [write(one) for one in started.handle(said_so, 50)] == ["/1:0:1 is failed exit code 7"]


def test_a_rank_that_aborts_ends_everything_at_once(started: RunState) -> None:
    play(
        started,
        """
        > at 50 RankEnded 1:0:1 7 why
        /1:0:1 is failed exit code 7
        tell all that 1:0:1 ended with exit code 7 (7)
        > at 50 Aborted 1:0:1
        stop
        > at 50 Aborted 1:0:0
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 7
        """,
    )
    assert said(started) == ["1:0:1 failed: exit code 7; why"]


def test_the_code_of_who_aborts_counts_also_where_others_missed_it_first(
    started: RunState,
) -> None:
    play(
        started,
        """
        > at 50 RankEnded 0:0:0 1 'it waited for 1:0:1' 1:0:1
        /0:0:0 is failed exit code 1
        tell all that 0:0:0 ended with exit code 1 (1)
        > at 50 RankEnded 1:0:1 7
        /1:0:1 is failed exit code 7
        tell all that 1:0:1 ended with exit code 7 (7)
        > at 50 Aborted 1:0:1
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 7
        """,
    )


def test_a_step_that_fails_stops_everything_and_is_a_failed_deployment() -> None:
    machine = RunState(outline("0:0", "1:0"), TIMEOUTS)
    machine.handle(Begin(), 0.0)
    play(
        machine,
        """
        > StepFailed front-end:0:0 'unknown host'
        /0:0 is failed front-end
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        > StepUp front-end:1:0
        > PlaceClosed 1:0
        /1:0 is ended
        finish 203
        """,
    )
    assert said(machine) == ["unknown host"]
    assert machine.state is RunPhase.FAILED


def test_ranks_that_never_come_are_named_when_the_time_is_up() -> None:
    machine = RunState(outline("0:0"), TIMEOUTS)
    for event in ("Begin", "StepUp front-end:0:0", "RankHere 0:0:0"):
        machine.handle(read(event)[1], 0.0)
    assert machine.deadline == 100
    assert machine.missing == ("0:0:1",)
    late = "> at 99.9 Tick\n> at 100 Tick\nstop\n> PlaceClosed 0:0\n/0:0 is ended\nfinish 203"
    play(machine, late)
    assert said(machine) == [
        "not everything was up within 100 s; still missing: 0:0:1. Look at the output above, "
        "or allow more time with --timeout"
    ]


@pytest.mark.parametrize("event", ["RankEnded 0:0:0 4", "JobEnded 0:0 4"])
def test_what_ends_before_the_application_runs_fails_the_run(event: str) -> None:
    machine = RunState(outline("0:0"), TIMEOUTS)
    for before in ("Begin", "StepUp front-end:0:0"):
        machine.handle(read(before)[1], 0.0)
    effects = machine.handle(read(event)[1], 0.0)
    assert effects[-1] == Stop()
    assert machine.errors[0].startswith("0:0")
    assert "4" in machine.errors[0]
    assert machine.handle(events.PlaceClosed("0:0"), 0.0)[-1] == Finish(203)


def test_a_lost_place_ends_the_run_and_is_not_waited_for(started: RunState) -> None:
    play(
        started,
        """
        > PlaceLost 0:0 'connection broke'
        /0:0 is lost
        stop
        > PlaceClosed 1:0
        /1:0 is ended
        finish 204
        """,
    )
    assert said(started) == ["connection broke"]


def test_ctrl_c_once_stops_twice_kills_and_the_third_changes_nothing(started: RunState) -> None:
    play(
        started,
        """
        > at 10 Interrupt
        explain briefly
        > Explained
        stop
        > Interrupt
        kill
        giveup
        > Interrupt
        > RankEnded 0:0:0 143
        /0:0:0 is failed exit code 143
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 130
        """,
    )


@pytest.mark.parametrize("late", ["> at 11 Tick\nstop", "> Interrupt\nstop\nkill\ngiveup"])
def test_ctrl_c_waits_briefly_for_what_ranks_tell_and_a_second_one_not_at_all(
    started: RunState, late: str
) -> None:
    play(started, f"> at 10 Interrupt\nexplain briefly\n> at 10.9 Tick\n{late}\n> Explained")


def test_ranks_found_to_wait_for_ever_after_ctrl_c_do_not_change_the_exit_code(
    started: RunState,
) -> None:
    play(
        started,
        """
        > at 10 Interrupt
        explain briefly
        > LeftBehind a_waits_for_b
        > Explained
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 130
        """,
    )
    assert started.errors == []


def test_ctrl_c_after_a_failure_asks_nobody(started: RunState) -> None:
    play(
        started,
        """
        > at 10 RankEnded 0:0:0 3
        /0:0:0 is failed exit code 3
        tell all that 0:0:0 ended with exit code 3 (3)
        > Interrupt
        stop
        """,
    )


def test_what_does_not_end_in_order_is_killed(started: RunState) -> None:
    play(started, "> at 10 Halt\nstop\n> at 15.9 Tick\n> at 16 Tick\nkill\n> at 30 Tick")
    assert started.deadline is None


def test_a_run_can_be_given_up_before_it_begins() -> None:
    machine = RunState(outline("0:0"), TIMEOUTS)
    assert machine.handle(events.Interrupt(), 0.0) == [Finish(130)]


def test_a_run_with_an_assembly_waits_for_it_too() -> None:
    machine = RunState(outline("0:0", "1:0", has_assembly=True), TIMEOUTS)
    play(machine, UP)
    play(
        machine,
        """
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        > AssemblyEnded 0
        stop
        """,
    )


def with_assembly() -> RunState:
    machine = RunState(outline("0:0", "1:0", has_assembly=True), TIMEOUTS)
    play(machine, UP)
    return machine


def test_an_assembly_that_fails_says_why_and_gives_the_exit_code() -> None:
    machine = with_assembly()
    play(
        machine,
        """
        > AssemblyEnded 7 "it broke"
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > AssemblyEnded 1 "and did not stop"
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 7
        """,
    )
    assert said(machine) == ["it broke"]


def test_an_assembly_that_cannot_be_ended_is_a_failure_of_its_own() -> None:
    machine = with_assembly()
    play(
        machine,
        """
        > AssemblyEnded 0
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > AssemblyEnded 1 "it did not stop"
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 1
        """,
    )
    assert said(machine) == ["it did not stop"]


def test_what_an_interrupted_assembly_says_is_left_out() -> None:
    machine = with_assembly()
    play(
        machine,
        """
        > Interrupt
        explain briefly
        > Explained
        stop
        > AssemblyEnded 1 "interrupted"
        """,
    )
    assert said(machine) == []


def test_a_lost_node_ends_the_run(started: RunState) -> None:
    play(
        started,
        """
        > NodeLost front-end:0:0 "the node has gone"
        /0:0 is lost
        stop
        > NodeLost front-end:1:0 "that one too"
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 204
        """,
    )
    assert said(started) == ["the node has gone"]


def test_what_took_the_front_ends_of_this_machine_along_is_blamed_for_what_they_tell(
    started: RunState,
) -> None:
    started.handle(death("0:0:0", 143, signal=15), 1.0)
    play(
        started,
        """
        > JobEnded 0:0 1 "mpiexec ended"
        /0:0 is failed exit code 1
        > PlaceLost 0:0 "the front-end has ended"
        /0:0 is lost
        stop
        > ParentKilled "their process was killed"
        > PlaceClosed 1:0
        /1:0 is ended
        finish 204
        """,
    )
    assert said(started) == [
        "their process was killed",
        "because of that 2 more failed or were ended (0:0:0, 0:0)",
    ]


def test_a_rank_that_has_failed_by_itself_is_blamed_all_the_same(started: RunState) -> None:
    play(
        started,
        """
        > RankEnded 0:0:0 7
        /0:0:0 is failed exit code 7
        tell all that 0:0:0 ended with exit code 7 (7)
        > ParentKilled "their process was killed"
        stop
        """,
    )
    assert said(started)[0].startswith("0:0:0 failed first: exit code 7")


def test_where_others_go_on_the_end_of_the_front_ends_of_this_machine_ends_nothing_else(
    surviving: RunState,
) -> None:
    play(surviving, "> ParentKilled gone")
    assert surviving.state is RunPhase.RUNNING


def test_where_nobody_has_gone_on_the_end_of_the_front_ends_of_this_machine_is_blamed(
    surviving: RunState,
) -> None:
    surviving.handle(events.JobEnded("0:0", 1, "mpiexec ended", is_fault=True), 1.0)
    for cluster in ("0:0", "1:0"):
        surviving.handle(events.ParentKilled("their process was killed"), 1.0)
        surviving.handle(events.PlaceLost(cluster, "the front-end has gone"), 1.0)
    assert said(surviving)[0] == "their process was killed"


def test_a_node_lost_before_the_start_is_a_failed_deployment() -> None:
    machine = RunState(outline("0:0"), TIMEOUTS)
    machine.handle(Begin(), 0.0)
    play(
        machine,
        """
        > NodeLost front-end:0:0 "gone"
        /0:0 is lost
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        finish 203
        """,
    )


def test_a_steered_run_does_not_wait_for_its_assembly() -> None:
    machine = RunState(outline("0:0", has_assembly=True), TIMEOUTS, steered=True, idle=True)
    machine.handle(Begin(), 0.0)
    for step in ("front-end:0:0", "ranks:0:0", "handshake:grid"):
        machine.handle(events.StepUp(step), 0.0)
    assert machine.handle(events.Halt(), 1.0) == [Stop()]


@pytest.fixture
def steered() -> RunState:
    machine = RunState(outline("0:0", "1:0"), TIMEOUTS, steered=True)
    play(machine, UP)
    return machine


def test_ranks_of_a_steered_run_are_told_of_one_that_could_not_say_that_it_ends(
    steered: RunState,
) -> None:
    play(
        steered,
        """
        > RankEnded 0:0:1 137
        /0:0:1 is failed exit code 137
        tell all that 0:0:1 ended with exit code 137 (137)
        > RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        > JobEnded 0:0 137
        /0:0 is failed exit code 137
        > Suspected 1:0:0 0:0:1 "the connection ended"
        tell all that 0:0:1 ended with exit code 137 (137)
        """,
    )
    said_itself = death("1:0:0", 1, by=Witness.RANK, exception="ValueError")
    assert steered.handle(said_itself, 0.0) == [Show("/1:0:0", "failed", "exit code 1")]
    assert steered.state is RunPhase.RUNNING
    assert steered.deadline is None
    assert said(steered) == []


def test_the_end_of_a_rank_is_not_that_of_the_one_that_is_started_again(steered: RunState) -> None:
    play(
        steered,
        """
        > RankEnded 0:0:1 137
        /0:0:1 is failed exit code 137
        tell all that 0:0:1 ended with exit code 137 (137)
        > RankReady 0:0:1
        /0:0:1 is running
        > Suspected 1:0:0 0:0:1 "the link is cut"
        tell 1:0:0 that 0:0:1 is lost to it: the link is cut
        > RankEnded 0:0:1 9
        /0:0:1 is failed exit code 9
        tell all that 0:0:1 ended with exit code 9 (9)
        """,
    )


def test_an_event_that_cannot_happen_is_refused_and_changes_nothing(started: RunState) -> None:
    before = dataclasses.asdict(started)
    with pytest.raises(IllegalEvent, match="Begin cannot happen while running"):
        started.handle(Begin(), 99.0)
    assert dataclasses.asdict(started) == before


def test_nothing_can_happen_once_a_run_is_over() -> None:
    assert not [pair for pair in TRANSITIONS if pair[0] in (RunPhase.DONE, RunPhase.FAILED)]


@pytest.fixture
def surviving() -> RunState:
    plan = dataclasses.replace(outline("0:0", "1:0"), survivors=frozenset({"0:0", "1:0"}))
    machine = RunState(plan, TIMEOUTS)
    play(machine, UP)
    return machine


def test_ranks_that_go_on_are_told_of_one_that_is_lost_and_the_run_ends_well(
    surviving: RunState,
) -> None:
    play(
        surviving,
        """
        > RankEnded 0:0:1 7
        /0:0:1 is failed exit code 7
        tell all that 0:0:1 ended with exit code 7 (7)
        > RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        tell all that 0:0:0 ended (0)
        > JobEnded 0:0 7
        /0:0 is failed exit code 7
        > at 50 Tick
        > RankEnded 1:0:0 0
        /1:0:0 is done exit code 0
        tell all that 1:0:0 ended (0)
        > RankEnded 1:0:1 0
        /1:0:1 is done exit code 0
        tell all that 1:0:1 ended (0)
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 0
        """,
    )
    assert said(surviving) == []


def test_the_job_of_a_lost_rank_is_kept_for_another_one_and_the_run_ends_with_the_last_rank(
    surviving: RunState,
) -> None:
    play(
        surviving,
        """
        > RankEnded 0:0:1 7
        /0:0:1 is failed exit code 7
        tell all that 0:0:1 ended with exit code 7 (7)
        > RankReady 0:0:1
        /0:0:1 is running
        > RankEnded 1:0:0 0
        /1:0:0 is done exit code 0
        tell all that 1:0:0 ended (0)
        > RankEnded 1:0:1 0
        /1:0:1 is done exit code 0
        tell all that 1:0:1 ended (0)
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        > RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        tell all that 0:0:0 ended (0)
        > RankEnded 0:0:1 0
        /0:0:1 is done exit code 0
        tell all that 0:0:1 ended (0)
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        finish 0
        """,
    )
    assert said(surviving) == []


def test_a_front_end_that_is_lost_takes_only_its_own_ranks_along_where_others_go_on(
    surviving: RunState,
) -> None:
    play(
        surviving,
        """
        > PlaceLost 0:0 "power failure"
        /0:0 is lost
        tell all that 0:0:0 was lost with its front-end (202)
        tell all that 0:0:1 was lost with its front-end (202)
        """.replace("202", str(LOST)),
    )
    assert surviving.state is RunPhase.RUNNING


def test_the_run_has_failed_if_nobody_is_left_to_bring_it_to_its_end(surviving: RunState) -> None:
    play(
        surviving,
        """
        > RankEnded 0:0:1 7
        /0:0:1 is failed exit code 7
        tell all that 0:0:1 ended with exit code 7 (7)
        > PlaceLost 0:0 gone
        /0:0 is lost
        tell all that 0:0:0 was lost with its front-end (202)
        > PlaceLost 1:0 gone
        /1:0 is lost
        tell all that 1:0:0 was lost with its front-end (202)
        tell all that 1:0:1 was lost with its front-end (202)
        stop
        finish 7
        """.replace("202", str(LOST)),
    )
    assert any("0:0:1" in line for line in said(surviving))


@pytest.mark.parametrize("pair", ["0:0:1 1:0:0", "1:0:0 0:0:1"])
def test_of_two_ranks_that_cannot_reach_each_other_the_later_cluster_is_lost_whoever_tells(
    surviving: RunState, pair: str
) -> None:
    play(
        surviving,
        f"""
        > Suspected {pair} "the link is cut"
        condemn 1:0 the link is cut
        """,
    )


def test_suspicions_about_a_cluster_that_is_to_end_already_end_no_other_one(
    surviving: RunState,
) -> None:
    play(
        surviving,
        """
        > Suspected 0:0:1 1:0:0 "the link is cut"
        condemn 1:0 the link is cut
        > Suspected 1:0:0 0:0:1 "the link is cut"
        > Suspected 0:0:0 1:0:1 "the link is cut"
        """,
    )


def test_of_two_clusters_that_cannot_reach_each_other_the_one_with_fewer_living_ranks_is_lost(
    surviving: RunState,
) -> None:
    play(
        surviving,
        """
        > RankEnded 0:0:0 7
        /0:0:0 is failed exit code 7
        tell all that 0:0:0 ended with exit code 7 (7)
        > Suspected 1:0:0 0:0:1 "the link is cut"
        condemn 0:0 the link is cut
        """,
    )


def test_a_suspicion_of_a_rank_that_has_ended_is_answered_with_its_end_and_harms_nobody(
    surviving: RunState,
) -> None:
    play(
        surviving,
        """
        > RankEnded 0:0:0 7
        /0:0:0 is failed exit code 7
        tell all that 0:0:0 ended with exit code 7 (7)
        > Suspected 1:0:0 0:0:0 "the connection ended"
        tell all that 0:0:0 ended with exit code 7 (7)
        > Suspected 0:0:0 1:0:0 "the connection ended"
        """,
    )


def test_where_losses_end_the_run_a_rank_is_lost_only_to_the_one_that_cannot_reach_it(
    started: RunState,
) -> None:
    told = started.handle(events.Suspected("0:0:0", "1:0:0", "cut"), 1.0)
    assert told == [events.TellUnreachable("0:0:0", "1:0:0", "cut")]


def test_of_two_ranks_of_a_cluster_that_cannot_reach_each_other_the_one_to_blame_is_ended(
    surviving: RunState,
) -> None:
    play(
        surviving,
        """
        > Suspected 0:0:1 0:0:0 "no way" 0:0:0
        end 0:0:0 no way
        > Suspected 0:0:0 0:0:1 "no way" 0:0:0
        > RankEnded 0:0:0 137
        /0:0:0 is failed exit code 137
        tell all that 0:0:0 ended with exit code 137 (137)
        """,
    )
    assert surviving.state is RunPhase.RUNNING


@pytest.fixture
def replicated() -> RunState:
    """Two ranks, each with a replica in either cluster."""
    plan = dataclasses.replace(
        outline("0:0", "1:0", closing=("fetch:0:0", "fetch:1:0")),
        survivors=frozenset({"0:0", "1:0"}),
        replicas={"0:0:0": 0, "0:0:1": 1, "1:0:0": 0, "1:0:1": 1},
    )
    machine = RunState(plan, TIMEOUTS)
    play(machine, UP)
    return machine


def test_a_run_is_good_if_a_replica_of_each_rank_ended_well_and_has_results_of_whole_clusters(
    replicated: RunState,
) -> None:
    play(
        replicated,
        """
        > RankEnded 0:0:1 7
        /0:0:1 is failed exit code 7
        tell all that 0:0:1 ended with exit code 7 (7)
        > RankEnded 1:0:1 0
        /1:0:1 is done exit code 0
        tell all that 1:0:1 ended (0)
        > RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        tell all that 0:0:0 ended (0)
        > RankEnded 1:0:0 0
        /1:0:0 is done exit code 0
        tell all that 1:0:0 ended (0)
        > JobEnded 0:0 7
        /0:0 is failed exit code 7
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:1:0
        > StepUp fetch:1:0
        discard fetch:0:0
        > StepUp fetch:0:0
        finish 0
        """,
    )
    assert said(replicated) == []


def test_results_come_from_clusters_that_are_still_there_when_all_ranks_have_ended(
    replicated: RunState,
) -> None:
    for rank in ("0:0:0", "0:0:1", "1:0:0", "1:0:1"):
        replicated.handle(death(rank, 0), 0.0)
    play(
        replicated,
        """
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > PlaceLost 0:0 "power failure"
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:1:0
        > StepUp fetch:1:0
        discard fetch:0:0
        > StepUp fetch:0:0
        finish 0
        """,
    )


ALL_REPLICAS_ENDED = """
> at 10 RankEnded 0:0:0 0
/0:0:0 is done exit code 0
tell all that 0:0:0 ended (0)
> at 10 RankEnded 0:0:1 0
/0:0:1 is done exit code 0
tell all that 0:0:1 ended (0)
> at 10 RankEnded 1:0:0 0
/1:0:0 is done exit code 0
tell all that 1:0:0 ended (0)
> at 10 RankEnded 1:0:1 0
/1:0:1 is done exit code 0
tell all that 1:0:1 ended (0)
> JobEnded 0:0 0
/0:0 is done exit code 0
> JobEnded 1:0 0
/1:0 is done exit code 0
stop
> PlaceClosed 0:0
/0:0 is ended
> PlaceClosed 1:0
/1:0 is ended
start fetch:0:0
> StepFailed fetch:0:0 "its host is gone"
start fetch:1:0
"""


def test_results_that_do_not_come_home_come_from_other_replicas(replicated: RunState) -> None:
    play(replicated, f"{ALL_REPLICAS_ENDED}> StepUp fetch:1:0\nfinish 0")
    assert said(replicated) == []


def test_results_that_come_home_from_no_replica_are_a_failure(replicated: RunState) -> None:
    play(
        replicated,
        f'{ALL_REPLICAS_ENDED}> StepFailed fetch:1:0 "that too"\nfinish {OUTPUT_FAILED}',
    )


def test_replicas_that_are_late_are_stopped_once_each_rank_has_a_result(
    replicated: RunState,
) -> None:
    play(
        replicated,
        """
        > at 10 RankEnded 0:0:1 0
        /0:0:1 is done exit code 0
        tell all that 0:0:1 ended (0)
        > at 20 RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        tell all that 0:0:0 ended (0)
        > at 24 Tick
        > at 25 Tick
        stop
        """,
    )


def test_ctrl_c_waits_no_longer_when_each_rank_has_a_result(replicated: RunState) -> None:
    play(
        replicated,
        """
        > at 10 RankEnded 0:0:1 0
        /0:0:1 is done exit code 0
        tell all that 0:0:1 ended (0)
        > at 20 Interrupt
        explain briefly
        > at 20.5 RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        tell all that 0:0:0 ended (0)
        > at 21 Tick
        stop
        """,
    )


def test_a_replica_that_fails_once_each_rank_has_a_result_is_no_failure_of_the_run(
    replicated: RunState,
) -> None:
    play(
        replicated,
        """
        > at 10 RankEnded 0:0:1 0
        /0:0:1 is done exit code 0
        tell all that 0:0:1 ended (0)
        > at 20 RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        tell all that 0:0:0 ended (0)
        > at 25 Tick
        stop
        > at 26 RankEnded 1:0:0 1
        /1:0:0 is failed exit code 1
        """,
    )
    assert not replicated.failures.code


def test_a_cluster_that_still_writes_results_which_are_needed_is_not_stopped(
    replicated: RunState,
) -> None:
    play(
        replicated,
        """
        > at 10 RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        tell all that 0:0:0 ended (0)
        > at 10 RankEnded 1:0:1 0
        /1:0:1 is done exit code 0
        tell all that 1:0:1 ended (0)
        > at 30 Tick
        > at 40 RankEnded 1:0:0 0
        /1:0:0 is done exit code 0
        tell all that 1:0:0 ended (0)
        > at 44 Tick
        > at 45 Tick
        stop
        """,
    )


def test_results_of_a_replica_that_was_started_again_are_not_taken_for_whole(
    replicated: RunState,
) -> None:
    play(
        replicated,
        """
        > RankEnded 0:0:1 9
        /0:0:1 is failed exit code 9
        tell all that 0:0:1 ended with exit code 9 (9)
        > RankReady 0:0:1
        /0:0:1 is running
        > RankEnded 0:0:1 0
        /0:0:1 is done exit code 0
        tell all that 0:0:1 ended (0)
        > RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        tell all that 0:0:0 ended (0)
        > RankEnded 1:0:0 0
        /1:0:0 is done exit code 0
        tell all that 1:0:0 ended (0)
        > RankEnded 1:0:1 0
        /1:0:1 is done exit code 0
        tell all that 1:0:1 ended (0)
        > JobEnded 0:0 0
        /0:0 is done exit code 0
        > JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > PlaceClosed 0:0
        /0:0 is ended
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:1:0
        > StepUp fetch:1:0
        discard fetch:0:0
        > StepUp fetch:0:0
        finish 0
        """,
    )


def test_replicas_whose_results_are_needed_again_are_not_stopped(replicated: RunState) -> None:
    play(
        replicated,
        """
        > at 10 RankEnded 0:0:0 0
        /0:0:0 is done exit code 0
        tell all that 0:0:0 ended (0)
        > at 10 RankEnded 0:0:1 0
        /0:0:1 is done exit code 0
        tell all that 0:0:1 ended (0)
        > at 11 PlaceLost 0:0 "power failure"
        /0:0 is lost
        > at 20 Tick
        > at 30 RankEnded 1:0:0 0
        /1:0:0 is done exit code 0
        tell all that 1:0:0 ended (0)
        > at 30 RankEnded 1:0:1 0
        /1:0:1 is done exit code 0
        tell all that 1:0:1 ended (0)
        > at 30 JobEnded 1:0 0
        /1:0 is done exit code 0
        stop
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:1:0
        > StepUp fetch:1:0
        discard fetch:0:0
        > StepUp fetch:0:0
        finish 0
        """,
    )


def test_a_rank_is_lost_with_its_last_replica_and_then_the_others_are_given_a_while(
    replicated: RunState,
) -> None:
    play(
        replicated,
        """
        > PlaceLost 0:0 "power failure"
        /0:0 is lost
        tell all that 0:0:0 was lost with its front-end (202)
        tell all that 0:0:1 was lost with its front-end (202)
        > at 50 Tick
        > at 60 RankEnded 1:0:1 9
        /1:0:1 is failed exit code 9
        tell all that 1:0:1 ended with exit code 9 (9)
        > at 65 Tick
        stop
        > PlaceClosed 1:0
        /1:0 is ended
        start fetch:0:0
        start fetch:1:0
        > StepUp fetch:0:0
        > StepUp fetch:1:0
        finish 202
        """.replace("202", str(LOST)),
    )


def test_a_rank_that_failed_in_all_replicas_has_lost_its_last_one() -> None:
    clusters = {"0:0": NamedCluster("a/b", 0, world=2), "1:0": NamedCluster("c/d", 2, world=2)}
    failures = Failures()
    for rank in ("0:0:1", "1:0:1"):
        failures.rank_died(death(rank, 3))
    assert list(messages(failures, (), {}, RankNames(clusters))) == [
        "rank 1, replica 0 (a/b 1) failed first: exit code 3",
        "rank 1 has lost its last replica: replica 1 failed in the same way",
    ]


def test_what_is_said_of_a_rank_that_does_not_exist_is_refused(started: RunState) -> None:
    with pytest.raises(IllegalEvent, match="RankReady is about 0:0:9, which is no rank"):
        started.handle(events.RankReady("0:0:9"), 1.0)
    with pytest.raises(IllegalEvent, match="Suspected is about 9:9:9, which is no rank"):
        started.handle(events.Suspected("0:0:1", "9:9:9", "no way"), 1.0)
