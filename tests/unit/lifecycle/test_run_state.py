"""The machine of a run, as the scripts in testdata/run: what happens (>), and what it leads to.

`?` asks for the state of the run, its deadline, and the messages about it. The name of a file says
how its runs begin: `BEGINNINGS`.
"""

from __future__ import annotations

import copy
import dataclasses
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from runtime.lifecycle import events
from runtime.lifecycle.events import (
    Announce,
    AskAgain,
    Begin,
    Condemn,
    CondemnRank,
    Discard,
    Effect,
    Event,
    Explain,
    Fill,
    Finish,
    GiveUp,
    Go,
    Kill,
    LeaveOut,
    LetGo,
    LimitTime,
    Show,
    Signal,
    Start,
    Stop,
    TellUnreachable,
)
from runtime.lifecycle.failure_report import messages
from runtime.lifecycle.failures import Failures
from runtime.lifecycle.run_life import RunPhase
from runtime.lifecycle.run_parts import RunParts
from runtime.lifecycle.run_plan import RunPlan
from runtime.lifecycle.state import TRANSITIONS, IllegalEvent, RunState
from runtime.lifecycle.walltimes import RunTimeouts
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.rank_name import RankName
from runtime.step_name import StepKind, StepName
from runtime.topology import NamedCluster, RankNames
from tests.scripts import Script, same, scripts

TIMEOUTS = RunTimeouts(start=100, settle=5, grace=6)


def run_plan(
    *clusters: str, closing: Mapping[StepName, str] = {}, has_assembly: bool = False
) -> RunPlan:
    """Clusters of two ranks each: front-ends, then ranks, then one handshake, then the start."""
    front_ends = {one: StepName(StepKind.FRONT_END, one) for one in clusters}
    of_ranks = {one: StepName(StepKind.RANKS, one) for one in clusters}
    handshake, start = StepName(StepKind.HANDSHAKE, "grid"), StepName(StepKind.START)
    steps: dict[StepName, frozenset[StepName]] = dict.fromkeys(front_ends.values(), frozenset())
    steps |= {of_ranks[one]: frozenset({front_ends[one]}) for one in clusters}
    steps[handshake] = frozenset(of_ranks.values())
    steps[start] = frozenset({handshake})
    ranks = {one: (RankName.parse(f"{one}:0"), RankName.parse(f"{one}:1")) for one in clusters}
    return RunPlan(
        steps=steps,
        start=start,
        places={step: one for one, step in front_ends.items()},
        ranks=ranks,
        paths={step: f"/{step.about}" for step in (*steps, *closing)},
        rank_paths={rank: f"/{rank}" for names in ranks.values() for rank in names},
        closing=closing,
        has_assembly=has_assembly,
    )


def read(line: str) -> tuple[float | None, Event]:
    """Read `> RankEnded 0:0:1 7 why by=rank` or `> at 100 Tick`."""
    words = shlex.split(line.removeprefix(">"))
    now = None
    if words[0] == "at":
        now, words = float(words[1]), words[2:]
    if words[0] == "PlaceGranted" and words[2:]:
        left, reserve, signal, before = words[2:]
        walltime = events.Walltime(float(left), float(reserve), signal, float(before))
        return now, events.PlaceGranted(words[1], walltime)
    if words[0] == "RankEnded":
        plain = [word for word in words[1:] if "=" not in word]
        return now, death(*plain, **dict(word.split("=") for word in words[1:] if "=" in word))
    if words[0] == "Suspected" and not words[4:]:
        words.append(words[2])
    kind = getattr(events, words[0])
    types = [field.type for field in dataclasses.fields(kind)]
    kinds: dict[str, Callable[[str], object]] = {
        "int": int,
        "bool": "True".__eq__,
        "RankName": RankName.parse,
        "StepName": StepName.parse,
    }
    given = [kinds.get(str(kind), str)(word) for word, kind in zip(words[1:], types, strict=False)]
    return now, kind(*given)


def death(
    rank: str,
    code: int | str,
    why: str = "",
    lost: str = "",
    *,
    by: str = "parent",
    signal: str = "0",
    exception: str = "",
    missed: str = "",
    after: str = "",
) -> RankDeath:
    others = tuple(map(RankName.parse, lost.split(","))) if lost else ()
    observed = Observation(
        Witness(by), int(code), int(signal), why, exception, lost=others, is_loss=bool(missed)
    )
    return RankDeath(RankName.parse(rank), observed, after)


def write(effect: Effect) -> str:
    if isinstance(effect, LeaveOut | AskAgain | Fill | LetGo):
        words = {LeaveOut: "leave out", Fill: "fill", LetGo: "let go of", AskAgain: "ask again for"}
        return f"{words[type(effect)]} {effect.cluster}"
    match effect:
        case Show(path, state, detail):
            return f"{path} is {state} {detail}".rstrip()
        case Start(step) | Discard(step):
            return f"{type(effect).__name__.lower()} {step}"
        case Finish(code):
            return f"finish {code}"
        case Announce(death):
            return f"tell all that {death.who} {death.how} ({death.code})"
        case Condemn(cluster, why, line):
            return f"condemn {cluster} {'for the line ' + ' to '.join(line) if line else why}"
        case CondemnRank(rank, why):
            return f"end {rank} {why}"
        case TellUnreachable(by, rank, why):
            return f"tell {by} that {rank} is lost to it: {why}"
        case Signal(cluster, signal):
            return f"send {cluster} {signal}"
        case LimitTime(cluster, ends, saves):
            return f"end {cluster} in {ends:g} s, let it save in {saves:g} s"
        case Explain(is_brief=True):
            return "explain briefly"
        case Go() | Stop() | Kill() | Explain() | GiveUp():
            return type(effect).__name__.lower()


def summary(machine: RunState) -> list[str]:
    """Return the state of a run, its deadline, and all messages about it."""
    run = machine.run
    until = "" if machine.due is None else f" until {machine.due:g}"
    found = [*messages(run.failures, (), {}, run.plan.names), *run.errors]
    return [f"{run.life.phase}{until}", *"\n".join(found).splitlines()]


def play(machine: RunState, text: str) -> list[str]:
    """Let a script happen; return its lines with those that they lead to."""
    now = 0.0
    trace: list[str] = []
    for line in text.splitlines():
        if line == "?":
            trace += ["?", *summary(machine)]
        elif line.startswith(">"):
            at, event = read(line)
            now = now if at is None else at
            trace += [line, *map(write, machine.handle(event, now))]
    return trace


UP = """
> Begin
> StepUp front-end:1:0
> StepUp front-end:0:0
> RankHere 0:0:0
> RankReady 0:0:0
> StepUp ranks:0:0
> StepUp ranks:1:0
> StepUp handshake:grid
"""


def up(plan: RunPlan, *, steered: bool = False, **limits: float) -> RunState:
    machine = RunState(RunParts(plan, dataclasses.replace(TIMEOUTS, **limits), steered))
    play(machine, UP)
    return machine


NAMES = RankNames({"0:0": NamedCluster("a/b", 0), "1:0": NamedCluster("c/d", 2)})
TWO = dataclasses.replace(run_plan("0:0", "1:0"), names=NAMES)
FETCHING = dataclasses.replace(
    run_plan("0:0", "1:0", closing={StepName(StepKind.FETCH, one): one for one in ("0:0", "1:0")}),
    names=NAMES,
)
ASSEMBLED = dataclasses.replace(TWO, has_assembly=True)
SURVIVING = dataclasses.replace(TWO, survivors=frozenset({"0:0", "1:0"}))
REPLICATED = dataclasses.replace(
    FETCHING,
    survivors=frozenset({"0:0", "1:0"}),
    replicas={
        RankName(0, 0, 0): 0,
        RankName(0, 0, 1): 1,
        RankName(1, 0, 0): 0,
        RankName(1, 0, 1): 1,
    },
)
BEGINNINGS: dict[str, Callable[[], RunState]] = {
    "one": lambda: RunState(RunParts(run_plan("0:0"), TIMEOUTS)),
    "two": lambda: RunState(RunParts(TWO, TIMEOUTS)),
    "started": lambda: up(TWO),
    "limited": lambda: up(TWO, run=50, explain=4),
    "fetching": lambda: up(FETCHING),
    "assembly": lambda: up(ASSEMBLED),
    "steered": lambda: up(TWO, steered=True),
    "surviving": lambda: up(SURVIVING),
    "late": lambda: RunState(RunParts(SURVIVING, TIMEOUTS)),
    "again": lambda: up(dataclasses.replace(SURVIVING, again={"1:0": 2})),
    "replicated": lambda: up(REPLICATED),
}


@pytest.mark.parametrize("script", scripts(Path(__file__).parent / "testdata" / "run"))
def test_a_run_goes_as_its_script_says(script: Script, request: pytest.FixtureRequest) -> None:
    machine = BEGINNINGS[script.file.stem]()
    same(script, play(machine, script.text), request)


@pytest.fixture
def started() -> RunState:
    return up(TWO)


def test_a_run_keeps_the_exit_codes_of_its_ranks(started: RunState) -> None:
    play(started, "> RankEnded 0:0:0 0\n> RankEnded 0:0:1 7")
    assert {one.who: one.code for one in started.run.deaths.values()} == {"0:0:0": 0, "0:0:1": 7}


def test_an_event_that_cannot_happen_is_refused_and_changes_nothing(started: RunState) -> None:
    before = copy.deepcopy(started.run)
    with pytest.raises(IllegalEvent, match="Begin cannot happen while running"):
        started.handle(Begin(), 99.0)
    assert started.run == before


def test_nothing_can_happen_once_a_run_is_over() -> None:
    assert not [pair for pair in TRANSITIONS if pair[0] in (RunPhase.DONE, RunPhase.FAILED)]


def test_a_steered_run_does_not_wait_for_its_assembly() -> None:
    plan = run_plan("0:0", has_assembly=True)
    machine = RunState(RunParts(plan, TIMEOUTS, steered=True, idle=True))
    machine.handle(Begin(), 0.0)
    for step in ("front-end:0:0", "ranks:0:0", "handshake:grid"):
        machine.handle(events.StepUp(StepName.parse(step)), 0.0)
    assert machine.handle(events.Halt(), 1.0) == [Stop()]


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
        started.handle(events.RankReady(RankName(0, 0, 9)), 1.0)
    near, far = RankName(0, 0, 1), RankName(9, 9, 9)
    with pytest.raises(IllegalEvent, match="Suspected is about 9:9:9, which is no rank"):
        started.handle(events.Suspected(near, far, "no way", far), 1.0)
