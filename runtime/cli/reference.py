"""Writes the list of all options on the site, and manual pages, from the tables of options.

`python -m runtime.cli.reference` prints the list, which `make docs` adds to the page of commands;
the build of the package writes the manual pages, which `man` finds beside the commands. Nothing
outside of the standard library is imported for either.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from gcm.cli.common_options import CommandTable, Option
from gcm.cli.options import GCM
from runtime.cli.accept import ACCEPT
from runtime.cli.attach import ATTACH, LIST, LOGS, STOP
from runtime.cli.convert import CONVERT
from runtime.cli.doctor import DOCTOR
from runtime.cli.gcm_run import GCM_RUN
from runtime.cli.line.options import GCM_DEPLOY
from runtime.cli.login import LOGIN
from runtime.cli.look import LOOKS, TOP
from runtime.cli.new import NEW
from runtime.cli.tune import TUNE
from runtime.cli.view import COMPARE, VIEW
from runtime.cli.web import WEB
from runtime.peers.commands.advise import ADVISE
from runtime.peers.commands.peer_options import GCM_PEER

COMMANDS = (
    GCM,
    GCM_DEPLOY,
    DOCTOR,
    LOGIN,
    TUNE,
    CONVERT,
    ACCEPT,
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
    """Return the options of each command, in Markdown; one that several share is explained once."""
    explained: dict[str, str] = {}
    return "\n".join(
        line for command in COMMANDS for line in _rendered(command, command.name, explained)
    )


def _rendered(command: CommandTable, name: str, explained: dict[str, str]) -> Iterator[str]:
    """Yield the options of a command; `explained` has the lines so far, with their commands."""
    rows = [row for row in command.rows() if row.help and row.help is not argparse.SUPPRESS]
    rows = [row for row in rows if row.names != ("--version",)]
    lines = {f"- {_written(row)}: {_meaning(row)}": row for row in rows}
    own = [line for line in lines if line not in explained]
    shared: dict[str, list[str]] = {}
    for line, row in lines.items():
        if line in explained:
            word = _value(row) if _is_positional(row) else row.names[0]
            shared.setdefault(explained[line], []).append(f"`{word}`")
    if rows:
        yield from (f"### `{name}`", "", *own)
        yield from (f"- as for `{one}`: {', '.join(words)}" for one, words in shared.items())
        yield ""
    explained.update(dict.fromkeys(own, name))
    for one in command.commands:
        yield from _rendered(one, f"{name} {one.name}", explained)


def _written(row: Option) -> str:
    value = _value(row)
    if _is_positional(row):
        return f"`{value}`"
    names = ", ".join(f"`{name}`" for name in row.names)
    return f"{names} `{value}`" if value else names


def _value(row: Option) -> str:
    return row.settings.get("metavar") or "|".join(map(str, row.settings.get("choices") or ()))


def _is_positional(row: Option) -> bool:
    return not row.names[0].startswith("-")


def _meaning(row: Option) -> str:
    return row.help % {"default": row.settings.get("default")}


def manual_pages() -> dict[str, str]:
    """Return the manual page of each program in roff, by the name of its file.

    Commands that are the first word of another one, as `gcm-deploy doctor`, are sections of its
    page.
    """
    of_program: dict[str, list[CommandTable]] = {}
    for command in COMMANDS:
        of_program.setdefault(command.name.partition(" ")[0], []).append(command)
    return {
        f"{name}.1": "\n".join(_page(name, commands)) + "\n"
        for name, commands in of_program.items()
    }


def _page(name: str, commands: list[CommandTable]) -> Iterator[str]:
    first, *others = commands
    yield f'.TH {name.upper()} 1 "" "" "GCM for Python"'
    yield from (".SH NAME", f"{_roff(name)} \\- {_roff(first.summary.rstrip('.'))}")
    yield ".SH SYNOPSIS"
    usage = first.parser().format_usage().removeprefix("usage: ")
    yield from _verbatim("\n".join(map(str.strip, usage.splitlines())))
    yield ".SH DESCRIPTION"
    yield from _verbatim(first.parser().description or "")
    yield ".SH OPTIONS"
    yield from _options(first)
    inner = [(f"{name} {one.name}", one) for one in first.commands]
    if inner or others:
        yield ".SH COMMANDS"
    for called, command in (*inner, *((one.name, one) for one in others)):
        yield from _section(called, command)
    if epilog := first.parser().epilog:
        yield ".SH NOTES"
        yield from _verbatim(epilog)


def _section(name: str, command: CommandTable) -> Iterator[str]:
    yield f".SS {_roff(name)}"
    parser = command.parser()
    yield from (_roff(parser.description or ""), ".PP")
    yield from _options(command)
    yield from _verbatim(parser.epilog or "")
    for one in command.commands:
        yield from _section(f"{name} {one.name}", one)


def _options(command: CommandTable) -> Iterator[str]:
    for row in command.rows():
        if row.help and row.help is not argparse.SUPPRESS:
            written = _written(row).replace("`", "").replace("\\|", "|")
            yield from (".TP", f".B {_roff(written)}", _roff(_meaning(row)))


def _verbatim(text: str) -> Iterator[str]:
    yield from (".PP", ".nf", *map(_roff, text.splitlines()), ".fi")


def _roff(text: str) -> str:
    """Return the text with what roff would interpret escaped; a line may begin with a dot."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)


if __name__ == "__main__":
    print(render_options(), end="")
