"""A command is a table: its parser and its help follow from the rows."""

from __future__ import annotations

import argparse

import pytest

from gcm.cli.command_table import CommandRow, CommandTable, command
from gcm.cli.common_options import Option, OptionGroup


def _even(text: str) -> int:
    if int(text) % 2:
        raise ValueError(f"'{text}' is odd")
    return int(text)


@command(Option("place", metavar="PLACE", help="here"), more="For a while.", epilog="{command} 1")
def park(found: argparse.Namespace) -> int:
    print(f"parked at {found.place}")
    return 3


CAR = CommandTable(
    "car",
    "Drive a car.\nAnywhere.",
    Option("-d", "--doors", metavar="N", read=_even, also=("--portes",), help="how many"),
    OptionGroup(
        OptionGroup(
            Option("--left", action="store_true", sets="wheel side", help="to the left"),
            Option("--right", action="store_true", help="to the right"),
            excludes=True,
        ),
        title="where to",
    ),
    commands=(CommandRow("park", "leave it", f"{__name__}:park", "PLACE"),),
    wrong_usage=7,
)


def test_rows_are_found_in_groups_and_know_where_their_values_are() -> None:
    assert [(one.dest, one.sets) for one in CAR.rows()] == [
        ("doors", ""),
        ("left", "wheel side"),
        ("right", ""),
    ]


def test_words_of_other_commands_are_understood_and_not_shown() -> None:
    parser = CAR.parser()
    assert parser.parse_args(["--portes", "4", "park", "here"]).doors == 4
    assert "--portes" not in parser.format_help()
    assert "leave it" in parser.format_help()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-d", "3"], "argument -d/--doors: '3' is odd"),
        (["--portes", "5"], "'5' is odd"),
        (["--left", "--right"], "not allowed with argument --left"),
        (["--letf"], "did you mean '--left'?"),
        (["parc"], "did you mean 'park'?"),
    ],
)
def test_wrong_words_are_told_on_one_line(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        CAR.parser().parse_args([*words, "park", "here"])
    assert caught.value.code == 7
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_row_runs_its_function_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert CAR.run_command(["park", "here"]) == 3
    assert capsys.readouterr().out == "parked at here\n"
    shown = CAR.commands[0].table("car").parser().format_help()
    assert shown.startswith("usage: car park [-h] PLACE\n\nLeave it.\n\nFor a while.")
    assert shown.endswith("car park 1\n")


def test_a_command_is_loaded_when_it_is_run_and_not_for_the_help_of_others(
    capsys: pytest.CaptureFixture[str],
) -> None:
    missing = CommandRow("fly", "leave the ground", "no_such_module:fly", "HEIGHT")
    program = CommandTable("car", "Drive.", commands=(*CAR.commands, missing))
    assert program.run_command(["park", "here"]) == 3
    with pytest.raises(SystemExit):
        program.run_command(["--help"])
    assert "leave the ground" in capsys.readouterr().out
    with pytest.raises(ModuleNotFoundError):
        program.run_command(["fly", "high"])


def test_commands_beside_other_words_are_in_usage_and_help_and_not_in_the_parser() -> None:
    rows = (
        CommandRow("stop", "stand still", "m:stop", "[WHERE]"),
        CommandRow("wait", "stay", "m:wait", "[WHERE]"),
        CommandRow("sing", "make noise", "m:sing"),
    )
    road = Option("road", metavar="ROAD", help="where to")
    car = CommandTable("car", "Drive.", road, commands=rows, other_words=True, usage="car ROAD")
    shown = car.parser().format_help()
    assert shown.startswith("usage: car ROAD\n       car stop|wait [WHERE]\n       car sing\n")
    assert "commands:\n  stop  stand still\n" in shown
    assert car.command(["stop"]) is rows[0]
    assert car.command(["north"]) is None
    assert car.parser().parse_args(["stop"]).road == "stop"
