"""Writes the list of all options in docs/commands.md from the tables; `python -m` prints it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from gcm.cli.common_options import CommandTable, Option
from gcm.cli.options import GCM
from runtime.cli.attach import ATTACH, LIST, LOGS, STOP
from runtime.cli.convert import CONVERT
from runtime.cli.doctor import DOCTOR
from runtime.cli.gcm_run import GCM_RUN
from runtime.cli.line.options import GCM_DEPLOY
from runtime.cli.login import LOGIN
from runtime.cli.look import LOOKS, TOP
from runtime.cli.new import NEW
from runtime.cli.view import COMPARE, VIEW
from runtime.cli.web import WEB
from runtime.peers.commands.advise import ADVISE
from runtime.peers.commands.peer_options import GCM_PEER

COMMANDS = (
    GCM,
    GCM_DEPLOY,
    DOCTOR,
    LOGIN,
    CONVERT,
    NEW,
    *LOOKS.values(),
    TOP,
    VIEW,
    COMPARE,
    WEB,
    LIST,
    ATTACH,
    LOGS,
    STOP,
    GCM_RUN,
    ADVISE,
    GCM_PEER,
)
"""All commands with options; the others that `completion` has everywhere take a shell."""


def render_options() -> str:
    """Return a table for each command, in Markdown."""
    return "\n".join(line for command in COMMANDS for line in _rendered(command, command.name))


def _rendered(command: CommandTable, name: str) -> Iterator[str]:
    rows = [row for row in command.rows() if row.help and row.help is not argparse.SUPPRESS]
    rows = [row for row in rows if row.names != ("--version",)]
    if rows:
        yield from (f"### `{name}`", "", "| option | meaning |", "|---|---|")
        yield from (f"| {_written(row)} | {_meaning(row)} |" for row in rows)
        yield ""
    for one in command.commands:
        yield from _rendered(one, f"{name} {one.name}")


def _written(row: Option) -> str:
    choices = row.settings.get("choices")
    value = row.settings.get("metavar") or "\\|".join(map(str, choices or ()))
    if not row.names[0].startswith("-"):
        return f"`{value}`"
    names = ", ".join(f"`{name}`" for name in row.names)
    return f"{names} `{value}`" if value else names


def _meaning(row: Option) -> str:
    return row.help % {"default": row.settings.get("default")}


if __name__ == "__main__":
    print(render_options(), end="")
