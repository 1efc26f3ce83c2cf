"""The rows of all programs: each leads to a function, and everything follows from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm.cli.command_table import CommandTable
from runtime.cli import peer_main, run_main
from runtime.cli.commands import COMMANDS
from runtime.cli.reference import PROGRAMS, manual_pages, render_options

ROOT = Path(__file__).parents[4]
TABLES = [table for program in PROGRAMS for table in program.tables()]


def test_each_program_has_its_rows() -> None:
    assert {one.name: tuple(one.commands) for one in PROGRAMS} == COMMANDS


@pytest.mark.parametrize("table", TABLES, ids=lambda one: one.name)
def test_help_manual_page_and_list_of_options_follow_from_the_row(table: CommandTable) -> None:
    program, _, word = table.name.partition(" ")
    assert table.parser(()).format_help().startswith("usage: ")
    page = manual_pages()[f"{program}.1"]
    assert not word or f".SS {table.name}".replace("-", "\\-") in page
    if word and " " not in word:
        assert f"| `{table.name}` | " in render_options()


def test_the_page_of_commands_speaks_of_each() -> None:
    text = "".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    words = [(program, one.word) for program, rows in COMMANDS.items() for one in rows]
    missing = [word for program, word in words if word not in text or program not in text]
    assert missing == []


@pytest.mark.parametrize(
    "typed", [["run", "ring.py"], ["ring.py"]], ids=["gcm-peer run", "gcm-run"]
)
def test_gcm_run_is_another_name_of_gcm_peer_run_and_says_so(
    typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main = peer_main if typed[0] == "run" else run_main
    with pytest.raises(SystemExit) as caught:
        main(typed)
    assert caught.value.code == 202
    refused = capsys.readouterr().err
    assert refused.startswith(
        "gcm-peer run: error: say how many ranks, before the program: gcm-peer"
    )
    with pytest.raises(SystemExit):
        main([*typed[:-1], "--help"])
    assert "gcm-run is another name of gcm-peer run." in capsys.readouterr().out
