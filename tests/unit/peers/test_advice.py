"""How many replicas: the published figures, the advice that follows from them, and its words."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.cli.peer import GCM_PEER
from runtime.exit_codes import WRONG_USAGE
from runtime.peers.advice import (
    RunRisk,
    advise,
    chance,
    duration,
    host_fails,
    rate,
    rate_for,
    run_fails,
)


@pytest.mark.parametrize(
    ("replicas", "published"), [(1, 0.99859), (2, 0.27414), (3, 0.01587), (4, 0.00080)]
)
def test_the_chance_that_a_run_fails_is_the_published_one(replicas: int, published: float) -> None:
    assert round(run_fails(0.05, 128, replicas), 5) == published


@pytest.mark.parametrize(
    ("replicas", "published"),
    list(
        enumerate(
            (.63212, .28402, .16108, .11205, .09041, .08123, .07898, .08141, .08761, .09731),
            start=1,
        )
    ),
)  # fmt: skip
def test_with_longer_runs_the_chance_is_the_published_one(replicas: int, published: float) -> None:
    risk = RunRisk(processes=10, time=1.0, rate=0.1)
    assert round(risk.at(replicas).run_fails, 5) == published


def test_seven_replicas_are_best_in_the_published_table_and_five_reach_a_tenth() -> None:
    risk = RunRisk(processes=10, time=1.0, rate=0.1)
    found = advise(risk, target=0.1)
    assert found.least is not None
    assert (found.best.replicas, found.least.replicas) == (7, 5)
    assert advise(risk, target=0.05).least is None


def test_the_more_of_a_program_is_sequential_the_fewer_replicas_are_best(
    capsys: pytest.CaptureFixture[str],
) -> None:
    best = {}
    for share in ("100%", "95%", "50%"):
        command(
            *("--failure-rate", "0.1/h", "-n", "10", "--time", "10h", "--parallel", share),
            "--json",
        )
        best[share] = json.loads(capsys.readouterr().out)["best"]
    assert best == {"100%": 7, "95%": 5, "50%": 1}


def test_all_numbers_up_to_the_best_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    command("--failure-rate", "5%", "-n", "128", "--time", "2h", "--slowdown", "0")
    lines = capsys.readouterr().out.splitlines()
    listed = [int(line.split()[0]) for line in lines if line.strip()[:1].isdigit()]
    assert listed == list(range(1, listed[-1] + 1))


def test_where_replicas_cost_no_time_more_are_never_worse() -> None:
    risk = RunRisk(128, 1.0, rate_for(0.05, 1.0), slowdown=0.0)
    found = advise(risk, target=0.001)
    assert found.least is not None
    assert found.least.replicas == 4
    chances = [one.run_fails for one in found.prospects]
    assert chances == sorted(chances, reverse=True)


@given(st.integers(1, 99), st.integers(1, 300), st.integers(1, 5))
def test_the_formula_is_exact_for_the_smallest_chances(
    hundredths: int, processes: int, replicas: int
) -> None:
    exact = 1 - (1 - Fraction(hundredths, 100) ** replicas) ** processes
    assert run_fails(hundredths / 100, processes, replicas) == pytest.approx(float(exact), rel=1e-9)
    assert run_fails(1e-9, processes, 2) == pytest.approx(processes * 1e-18, rel=1e-6)


@given(st.floats(0.001, 0.999), st.floats(0.1, 1e6), st.floats(0.3, 3.0))
def test_a_chance_gives_the_rate_that_gives_the_chance(
    value: float, time: float, shape: float
) -> None:
    assert host_fails(rate_for(value, time, shape), time, shape) == pytest.approx(value)


def test_hosts_that_have_been_up_for_long_fail_less_where_the_shape_is_below_one() -> None:
    for time, is_more in ((0.1, True), (10.0, False)):
        assert (host_fails(1.0, time, shape=0.5) > host_fails(1.0, time)) == is_more


@pytest.mark.parametrize(
    ("read", "written"),
    [(duration, "2"), (duration, "0h"), (duration, "-1h"), (rate, "1/0d"), (rate, "3"),
     (chance, "0"), (chance, "100%"), (chance, "nan"), (chance, "much"), (rate, "x/d")],
)  # fmt: skip
def test_what_is_not_understood_is_refused(read: object, written: str) -> None:
    with pytest.raises(ValueError, match=f"'{written}' is no"):
        read(written)  # type: ignore[operator]


def command(*arguments: str) -> int:
    return GCM_PEER.run_command(["advise", *arguments])


def test_the_command_shows_each_number_with_its_chance_the_best_and_the_least(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code = command("--failure-rate", "0.1/h", "-n", "10", "--time", "1h", "--target", "10%")
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines[2:9]] == [str(number) for number in range(1, 8)]
    assert lines[6].split()[1:] == [
        "50",
        "5",
        "h",
        "39.3",
        "%",
        "9.04",
        "%",
        "█" * 9,
        "≤",
        "10",
        "%",
    ]
    assert lines[8].split()[-1] == "best"
    assert (
        lines[-1] == "gcm-peer run -r 5 is enough for 10 %; more than 7 make it worse or no better"
    )


def test_the_command_ends_with_1_where_no_number_of_replicas_is_enough(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command("--failure-rate", "1/h", "-n", "10", "--time", "1h") == 1
    assert "No number of replicas brings the chance to fail down to 1 %" in capsys.readouterr().out


def test_the_figures_are_to_be_had_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    told = ("--failure-rate", "5%", "-n", "128", "--time", "1h", "--slowdown", "0", "--json")
    command(*told)
    found = json.loads(capsys.readouterr().out)
    chances = [round(one["run_fails"], 5) for one in found["prospects"][:4]]
    assert chances == [0.99859, 0.27414, 0.01587, 0.00080]
    assert found["least"] == 4


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        (
            "--failure-rate",
            "5",
            "'5' is not a probability; write it as 5% or 0.05, between 0 and 1",
        ),
        ("--time", "2", "'2' is not a duration; write it as 30s, 90min, 2h, 5d or 1y"),
        ("-n", "0", "'0' is not a number of processes"),
        ("--shape", "0", "'0' is not above 0"),
        ("--slowdown", "-1", "'-1' is not a number from 0 on"),
    ],
)
def test_the_command_says_what_is_wrong_with_a_value(
    option: str, value: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = {"--failure-rate": "5%", "--time": "2h", "-n": "8"}
    words = [f"{name}={one}" for name, one in (usual | {option: value}).items() if name[1] == "-"]
    number = value if option == "-n" else "8"
    with pytest.raises(SystemExit) as caught:
        command(*words, "-n", number)
    assert caught.value.code == WRONG_USAGE
    assert told in capsys.readouterr().err
