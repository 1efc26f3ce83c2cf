"""A run as lines: what is written is read again, whole or up to where the file was cut."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.checks import FaultFound
from runtime.deployment import DeploymentPlan
from runtime.lifecycle.failures import PartFailure
from runtime.lifecycle.outcome import (
    ComponentReport,
    FirstCause,
    ForwardedTraffic,
    HeldNodes,
    KeptFolder,
    Results,
    RouteTraffic,
    TunnelTraffic,
)
from runtime.machine.deaths import Observation, RankDeath, Witness
from runtime.matching.traced import ROW
from runtime.rank_name import RankName
from runtime.topology.rank_names import NamedCluster
from runtime.views.account import RunAccount
from runtime.views.fact_lines import UnreadableFacts, heading, line_of, read_facts
from runtime.views.facts import (
    AwaitedPart,
    CallsChecked,
    CallsCounted,
    CallSeen,
    CallsTraced,
    CommandEnded,
    CommunicatorSeen,
    ConnectionsCounted,
    Fact,
    Logged,
    MessagesCounted,
    OutputWritten,
    PlannedCluster,
    PlannedSite,
    RankResult,
    RankSeen,
    RankStarted,
    RankUsed,
    Record,
    RunDescribed,
    RunEnded,
    RunPlanned,
    RunSeen,
    RunStarted,
    StackSeen,
    StateChanged,
    TracedCommunicator,
    WaitExplained,
)
from runtime.views.inspection import RunInspection
from runtime.views.picture import picture
from runtime.views.plain_lines import PlainLines
from runtime.views.progress_tree import ProgressTree
from runtime.views.summary import as_json, as_text

SEEN = Observation(Witness.PARENT, 139, 11, exception="ValueError: no", lost=(RankName(0, 1, 0),))
DEATH = RankDeath(RankName(0, 0, 1), SEEN, host="n1")
CALL = CallSeen(
    "recv", "recv from any", 2.5, "a.py:3", "WORLD", (AwaitedPart("receive", "", None),)
)
SEEN_RANK = RankSeen(
    "in recv", "ok", 2, (CommunicatorSeen("c", "ok", "blank"),), "n1", 77, (CALL,),
    (StackSeen("MainThread", "one\ntwo"),),
)  # fmt: skip
CEDAR = PlannedCluster(NamedCluster("s/cedar", 0, 2, "ocean"), "ocean", ("n1", "n2"))
TRACED = CallsTraced(
    1.5, None, (("Send", "send"),), (TracedCommunicator("WORLD", "0:0", ("0:0:0", "0:0:1")),), 3,
    ROW.pack(0.25, 0.5, 0, 0, 1, 7, 80),
)  # fmt: skip
FACTS = [
    Fact(0.0, "", RunDescribed("2026-11-27", "gcm-deploy a.xml", "<deployment/>", {"mpi4py": "4"})),
    Fact(0.0, "", RunPlanned("ring", (PlannedSite("s", (CEDAR,)),), {"ocean": 2}, goes_on=True)),
    Fact(0.25, "0:0", StateChanged("up", "front-end")),
    Fact(0.5, "0:0:1", RankStarted("n1", 77, "MPICH")),
    Fact(1.0, "", RunStarted()),
    Fact(1.5, "0:0:1", OutputWritten("stdout", b"\xff\x00 half\r\n\xc3")),
    Fact(2.0, "", Logged("gcm-deploy: odd")),
    Fact(2.0, "", RunSeen("running")),
    Fact(2.0, "0:0:1", SEEN_RANK),
    Fact(2.0, "", WaitExplained("cycle", "they wait:", ("0:0:0", "0:0:1"), "for ever")),
    Fact(2.0, "0:0:1", DEATH),
    Fact(2.0, "0:0:1", MessagesCounted("0:0", ("0:1", "1:0"), 2, 3, 40)),
    Fact(2.0, "0:0:1", MessagesCounted("0:0", None, 2, 3, 40)),
    Fact(2.0, "0:0:1", CallsCounted("Recv", 3, 1.25)),
    Fact(2.0, "0:0:1", RankUsed(4096, 1.25)),
    Fact(2.0, "0:0:1", TRACED),
    Fact(2.0, "", FaultFound("type", ("0:0:0", "0:0:1"), ("Send (a.py:1)",), "a fault")),
    Fact(2.0, "", CallsChecked(12)),
    Fact(2.0, "0:0:1", ConnectionsCounted({"tries": 2})),
    Fact(2.5, "0:0", RouteTraffic("launcher - s/cedar", 1, 2, 3)),
    Fact(2.5, "0:0", ForwardedTraffic("s/cedar", 1, 2, 3, 4)),
    Fact(2.5, "", TunnelTraffic("s/cedar", "s/fir", 1, 2, 3, 0.25)),
    Fact(2.5, "/app/a", ComponentReport("/app/a", "n1", "host", 7)),
    Fact(2.5, "0:0", HeldNodes("s/cedar", "17", 2, 8, 90.0)),
    Fact(2.5, "s/cedar", Results("s/cedar", 2, 9, ("out",), kept=KeptFolder("s", "w", "ssh"))),
    Fact(3.0, "0:0:1", RankResult(139, 11)),
    Fact(
        3.0, "", RunEnded(139, ("it failed",), FirstCause(DEATH, "killed", "n1", 77, 1, "rank 1"))
    ),
    Fact(3.0, "", RunEnded(9, (), FirstCause(PartFailure("0:0", 9, "mpiexec"), "mpiexec"))),
    Fact(3.5, "", CommandEnded(139)),
]


def written(facts: Sequence[Fact]) -> bytes:
    return heading() + b"".join(map(line_of, facts))


def read(data: bytes) -> list[Fact]:
    return list(read_facts(io.BytesIO(data), "run.facts"))


def test_every_fact_is_read_as_it_was_written() -> None:
    assert read(written(FACTS)) == FACTS
    assert {type(one.record) for one in FACTS} == set(get_args(Record))


def test_the_machine_of_a_plan_is_read_as_it_was_written(
    plan: Callable[..., DeploymentPlan],
) -> None:
    planned = Fact(0.0, "", RunPlanned.of(plan()))
    assert read(written([planned])) == [planned]


@given(st.integers(len(heading()), len(written(FACTS))))
def test_a_record_that_was_cut_anywhere_has_all_facts_before_that(at: int) -> None:
    facts = read(written(FACTS)[:at])
    assert facts == FACTS[: len(facts)]
    assert len(written(FACTS[: len(facts) + 1])) > at or facts == FACTS


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "run.facts: this is no record of a run. gcm-deploy --record FILE writes one"),
        (
            heading()[:-1],
            "run.facts: this is no record of a run. gcm-deploy --record FILE writes one",
        ),
        (
            b"<deployment/>\n",
            "run.facts: this is no record of a run. gcm-deploy --record FILE writes one",
        ),
        (
            b'{"facts of a run": 2}\n',
            "run.facts: this record is of version 2, and this gcm-deploy reads version 1. Read it"
            " with the gcm-deploy that wrote it",
        ),
        (
            heading() + b"half a li\n",
            "run.facts: line 2 is not a fact of a run: Expecting value: line 1 column 1 (char 0)."
            " Only gcm-deploy --record writes such files",
        ),
        (
            heading() + b'{"time":0,"name":"","fact":"RankResult","record":{"code":"\\u001b"}}\n',
            "run.facts: line 2 is not a fact of a run: '\\x1b' is no int. Only gcm-deploy --record"
            " writes such files",
        ),
    ],
)
def test_what_is_no_record_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(UnreadableFacts) as raised:
        read(data)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("fact", "why"),
    [
        ('"time":1e308,"name":"","fact":"RunStarted","record":{}', "1e+308 is no float"),
        ('"time":NaN,"name":"","fact":"RunStarted","record":{}', "NaN is no number"),
        (
            '"time":1,"name":"","fact":"RunEnded","record":{"code":9223372036854775808}',
            "'a number of too many digits' is no int",
        ),
        (
            '"time":1,"name":"","fact":"RunEnded","record":{"code":0,"errors":['
            + "[]," * 2_000_000
            + "[]]}",
            "more than 2,000,000 values",
        ),
    ],
    ids=["too late", "no time", "too large", "too many"],
)
def test_what_no_run_says_is_refused_before_it_takes_memory_or_cannot_be_shown(
    fact: str, why: str
) -> None:
    with pytest.raises(UnreadableFacts) as raised:
        read(heading() + f"{{{fact}}}\n".encode())
    assert why in str(raised.value)


def test_names_of_a_machine_have_one_line() -> None:
    plan = RunPlanned("a\nb", (), {"x\n": 1})
    (read_again,) = read(written([Fact(0.0, "c\n", plan)]))
    assert (read_again.name, read_again.record) == ("c\\n", RunPlanned("a\\nb", (), {"x\\n": 1}))


def test_what_a_later_writer_adds_is_passed_over() -> None:
    later = json.loads(line_of(FACTS[2]))
    later["record"]["cores"] = 4
    lines = [json.dumps(later), '{"time":1,"name":"","fact":"Novelty","record":{}}']
    assert read(heading() + "\n".join(lines).encode() + b"\n") == [FACTS[2]]


def test_the_words_of_others_cannot_steer_the_terminal() -> None:
    evil = Fact(1.0, "a\x1bb", RankStarted("n1\x1b[2J", 7, "MPI\x07"))
    assert read(written([evil])) == [Fact(1.0, "a\\x1bb", RankStarted("n1\\x1b[2J", 7, "MPI\\x07"))]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=4), some),
    max_leaves=5,
)


@settings(max_examples=200)
@given(st.data())
def test_no_fold_breaks_on_what_a_record_may_say(data: st.DataObject) -> None:
    lines = [json.loads(line_of(one)) for one in FACTS]
    for _ in range(data.draw(st.integers(1, 4))):
        line: Any = data.draw(st.sampled_from(lines))
        where = data.draw(st.sampled_from([line, line["record"]]))
        if isinstance(where, dict) and where:
            where[data.draw(st.sampled_from(sorted(where)))] = data.draw(ANYTHING)
    text = heading() + b"".join(json.dumps(one).encode() + b"\n" for one in lines)
    account, tree, news, run = RunAccount(), ProgressTree(), PlainLines(), RunInspection(1)
    try:
        for one in read_facts(io.BytesIO(text), "run.facts"):
            account.take(one)
            tree.take(one)
            news.line_of(one)
            run.take(one)
    except UnreadableFacts:
        pass
    as_text(account.summary())
    as_json(account.summary())
    picture(tree, 1.0, width=80, height=20)
    assert all((list(run.ps()), list(run.waits()), list(run.stacks()), run.as_dict()))
