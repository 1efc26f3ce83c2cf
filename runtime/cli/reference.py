"""Writes the list of all options on the site, and manual pages, from the tables of options.

`python -m runtime.cli.reference` prints the list, which `make docs` adds to the page of commands;
the build of the package writes the manual pages, which `man` finds beside the commands. Nothing
outside of the standard library is imported for either.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice

from gcm.cli.command_table import CommandTable
from gcm.cli.common_options import Option
from gcm.cli.options import GCM
from runtime.cli.lab_run import GCM_RUN
from runtime.cli.line.options import GCM_DEPLOY
from runtime.cli.peer import GCM_PEER

PROGRAMS = (GCM, GCM_DEPLOY, GCM_PEER, GCM_RUN)
"""All programs; what `gcm-run` shares with `gcm-peer` is told there."""


def render_options() -> str:
    """Return the commands and their options, in Markdown; a shared option is explained once."""
    explained: dict[str, str] = {}
    lines = ["| command | what it does |", "|---|---|"]
    for program in PROGRAMS:
        lines += [f"| `{program.name} {one.word}` | {one.summary} |" for one in program.commands]
    lines += [""]
    for program in PROGRAMS[:-1]:
        for table in program.tables():
            lines += _rendered(table, explained)
    return "\n".join(lines)


def _rendered(command: CommandTable, explained: dict[str, str]) -> Iterator[str]:
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
        yield from (f"### `{command.name}`", "", *own)
        yield from (f"- as for `{one}`: {', '.join(words)}" for one, words in shared.items())
        yield ""
    explained.update(dict.fromkeys(own, command.name))


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
    return {f"{one.name}.1": "\n".join(_page(one)) + "\n" for one in PROGRAMS}


def _page(program: CommandTable) -> Iterator[str]:
    name = program.name
    yield f'.TH {name.upper()} 1 "" "" "GCM for Python"'
    yield from (".SH NAME", f"{_roff(name)} \\- {_roff(program.summary.rstrip('.'))}")
    yield ".SH SYNOPSIS"
    parser = program.parser(())
    usage = parser.format_usage().removeprefix("usage: ")
    yield from _verbatim("\n".join(map(str.strip, usage.splitlines())))
    yield ".SH DESCRIPTION"
    yield from _verbatim(parser.description or "")
    yield ".SH OPTIONS"
    yield from _options(program)
    yield ".SH COMMANDS"
    for command in islice(program.tables(), 1, None):
        yield from _section(command)
    if parser.epilog:
        yield ".SH NOTES"
        yield from _verbatim(parser.epilog)


def _section(command: CommandTable) -> Iterator[str]:
    yield f".SS {_roff(command.name)}"
    parser = command.parser(())
    yield from (_roff(parser.description or ""), ".PP")
    yield from _options(command)
    yield from _verbatim(parser.epilog or "")


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
