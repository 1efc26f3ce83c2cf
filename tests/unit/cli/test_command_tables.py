"""A command is a table: its parser and its help follow from the rows."""

from __future__ import annotations

import pytest

from gcm.cli.common_options import CommandTable, Option, OptionGroup


def _even(text: str) -> int:
    if int(text) % 2:
        raise ValueError(f"'{text}' is odd")
    return int(text)


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
    commands=(CommandTable("park", "Leave it.", Option("place", metavar="PLACE", help="here")),),
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
    assert "Leave it." in parser.format_help()


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
