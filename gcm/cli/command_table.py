"""Programs and their commands as tables: a row for each word, found and run in one way.

A program has rows of `CommandRow`: the word, what it does in a few words, and the function that
does it. Usage, help, completion, manual pages, the list in the documentation and what an unknown
word may have meant come from these rows. The function is loaded when its command is run; the
options of a command stand where the function does, in the decorator `command`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import groupby
from typing import Any

from gcm.cli.common_options import CommandParser, Option, OptionGroup, each_option
from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class CommandRow:
    """A row: what is typed behind the name of a program, and what that does.

    `function` is `module:name` of what `command` has made, `arguments` are what usage shows behind
    the word. A row with `commands` leads to these, as `lab` does to `lab create`.
    """

    word: str
    summary: str
    function: str = ""
    arguments: str = ""
    commands: tuple[CommandRow, ...] = ()

    def table(self, program: str) -> CommandTable:
        """Return the table of its options, as a command of a program; this loads its module."""
        name = f"{program} {self.word}"
        if self.commands:
            return CommandTable(
                name, _sentence(self.summary), commands=self.commands, dest="action"
            )
        return self._load().table(name, self.summary)

    def run(self, program: str, words: Sequence[str]) -> int:
        """Run it with the words behind its own; return the exit code."""
        if self.commands:
            return self.table(program).run_command(words)
        return self._load().run(f"{program} {self.word}", self.summary, words)

    def _load(self) -> CommandFunction:
        module, _, name = self.function.partition(":")
        loaded: CommandFunction = getattr(import_module(module), name)
        return loaded


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


class CommandTable:
    """A program, or one of its commands, as a table: parser and help come from it.

    The rows are options and arguments; `commands` are those that can be its first word, whose name
    is then kept as `dest`. With `other_words` something else can, too, and whoever parses has
    looked for commands before: they are shown, and no part of the parser.
    """

    def __init__(
        self,
        name: str,
        description: str,
        *rows: Option | OptionGroup,
        epilog: str = "",
        usage: str | None = None,
        commands: Sequence[CommandRow] = (),
        other_words: bool = False,
        dest: str = "command",
        wrong_usage: int = 2,
    ) -> None:
        self.name = name
        self.commands = commands
        self._is_led_by_commands = bool(commands) and not other_words
        self._rows = rows
        self._dest = dest
        self._wrong_usage = wrong_usage
        if other_words:
            usage = "\n       ".join([usage or name, *_usages(name, commands)])
            epilog = f"{_list_of(commands)}\n\n{epilog}"
        self._settings: Mapping[str, Any] = {
            "description": description,
            "epilog": epilog or None,
            "usage": usage,
            "formatter_class": argparse.RawDescriptionHelpFormatter,
            "allow_abbrev": False,
        }

    @property
    def summary(self) -> str:
        """What it does, on one line."""
        return str(self._settings["description"]).splitlines()[0]

    def rows(self) -> Iterator[Option]:
        """Yield its own options and arguments, in order."""
        return each_option(self._rows)

    def tables(self) -> Iterator[CommandTable]:
        """Yield itself and the tables of all its commands, which are loaded."""
        yield self
        for one in self.commands:
            yield from one.table(self.name).tables()

    def command(self, words: Sequence[str]) -> CommandRow | None:
        """Return the command that a command line begins with."""
        return next((one for one in self.commands if [one.word] == list(words[:1])), None)

    def run_command(self, words: Sequence[str]) -> int:
        """Run the command that a command line begins with; return its exit code.

        Raises:
            SystemExit: it begins with none: help was shown, or the line refused.
        """
        command = self.command(words)
        if command is None:
            self.parser(words).parse_args(words)
            raise AssertionError("a parser with commands wants one first")
        return command.run(self.name, words[1:])

    def parser(self, words: Sequence[str] | None = None) -> CommandParser:
        """Return the parser of its command line, which knows the options of all commands.

        If the `words` of a command line are given, only options of commands among them are loaded.
        """
        return self._filled(CommandParser(prog=self.name, **self._settings), words)

    def _filled(self, made: CommandParser, words: Sequence[str] | None) -> CommandParser:
        made.wrong_usage = self._wrong_usage
        for row in self._rows:
            row.add_to(made)
        if self._is_led_by_commands:
            inner = made.add_subparsers(dest=self._dest, metavar=self._dest.upper(), required=True)
            for one in self.commands:
                if words is None or one.word in words:
                    table = one.table(self.name)
                    parser = inner.add_parser(one.word, help=one.summary, **table._settings)
                    table._filled(parser, words)
                else:
                    inner.add_parser(one.word, help=one.summary)
        return made


def _usages(name: str, commands: Sequence[CommandRow]) -> Iterator[str]:
    """Yield a line for the commands that are next to each other and have the same arguments."""
    for arguments, rows in groupby(commands, lambda one: one.arguments):
        yield f"{name} {'|'.join(one.word for one in rows)} {arguments}".rstrip()


def _list_of(commands: Sequence[CommandRow]) -> str:
    width = max(len(one.word) for one in commands)
    return "\n".join(["commands:", *(f"  {one.word:{width}}  {one.summary}" for one in commands)])


Does = Callable[[Any], int]
"""What a command does with the options that were read; returns the exit code."""

Reader = Callable[[CommandTable, Sequence[str]], Any]
"""Reads the words of a command line; raises SystemExit for a wrong one."""


def _parsed(table: CommandTable, words: Sequence[str]) -> Any:
    return table.parser().parse_args(words)


class CommandFunction:
    """What a command does, with its options; the row of the command gives name and summary."""

    def __init__(self, does: Does, make: Callable[[str, str], CommandTable], read: Reader) -> None:
        self.does = does
        self._make = make
        self._read = read
        self.__doc__ = does.__doc__

    def table(self, name: str, summary: str) -> CommandTable:
        """Return the table of its options."""
        return self._make(name, summary)

    def run(self, name: str, summary: str, words: Sequence[str]) -> int:
        """Read its options and do it; return the exit code."""
        return self.does(self._read(self.table(name, summary), words))


def command(
    *rows: Option | OptionGroup,
    more: str = "",
    epilog: str = "",
    wrong_usage: int = 2,
    usage: str | None = None,
    read: Reader = _parsed,
) -> Callable[[Does], CommandFunction]:
    """Give a function the options of a command; help shows `more` behind its summary.

    `{command}` in the epilog is the command as it is typed.
    """

    def make(name: str, summary: str) -> CommandTable:
        description = "\n\n".join(filter(None, [_sentence(summary), more]))
        shown = epilog.replace("{command}", name)
        return CommandTable(
            name, description, *rows, epilog=shown, usage=usage, wrong_usage=wrong_usage
        )

    return lambda does: CommandFunction(does, make, read)
