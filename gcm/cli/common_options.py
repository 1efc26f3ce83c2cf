"""What the command lines of this project have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, NoReturn

from gcm.suggestion import did_you_mean


class CommandParser(argparse.ArgumentParser):
    """Refuses unknown options and choices, and suggests which one was probably meant."""

    stray_hint = ""
    """The message for more words than anything takes."""

    _strange: Sequence[str] = ()

    wrong_usage = 2
    """The exit code where the command line is wrong."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Return what was parsed, and nothing more."""
        words = sys.argv[1:] if args is None else list(args)
        leading = takewhile(lambda word: word.startswith("-"), words)
        self._strange = [word for word in leading if not self.option_of(word)[0]]
        found, unknown = super().parse_known_args(self._with_constants(words), namespace)
        if unknown:
            self._strange = unknown
            misplaced = any(not word.startswith("-") for word in unknown)
            hint = f"; {self.stray_hint}" if misplaced and self.stray_hint else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write help; raises the OSError that argparse hides as if all had been written."""
        if file is sys.stdout:
            file.write(message)
            file.flush()
        else:
            super()._print_message(message, file)

    def option_of(self, word: str) -> tuple[str, bool]:
        """Return where the option of a word is kept, and whether its value is the next word.

        The name is empty for a word that begins with no known option.
        """
        name = word
        if name not in self._option_string_actions:
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
        action = self._option_string_actions.get(name)
        if action is None:
            return "", False
        return action.dest, action.nargs not in (0, "?") and name == word

    def _with_constants(self, words: Sequence[str]) -> list[str]:
        """Give options whose value may be left out the usual one, for only `--name=` gives one."""
        actions = map(self._option_string_actions.get, words)
        return [
            f"{word}={action.const}" if action is not None and action.nargs == "?" else word
            for word, action in zip(words, actions, strict=True)
        ]

    def error(self, message: str) -> NoReturn:
        """Report the error in one line, with the option that was probably meant, and exit."""
        meant = self._meant() or self._missing_choice(message)
        told = f"{message}; {meant}" if meant else message
        if "--help" not in told and "\n" not in told:
            told += f" (see {self.prog} --help)"
        self.exit(self.wrong_usage, f"{self.prog}: error: {told}\n")

    def _missing_choice(self, message: str) -> str:
        """Return the commands to choose from, if the message is that none was given."""
        for action in self._actions:
            if (
                action.choices
                and not action.option_strings
                and message.endswith(f": {action.metavar}")
            ):
                return f"it is one of {', '.join(map(str, action.choices))}"
        return ""

    def _meant(self) -> str:
        known = [name for name in self._option_string_actions if name.startswith("--")]
        hints = [did_you_mean(word.partition("=")[0], known) for word in self._strange]
        return next(filter(None, hints), "")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            meant = did_you_mean(str(value), map(str, action.choices or ()))
            if meant and meant not in error.message:
                error.message += f"; {meant}"
            raise


def _told(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Make argparse report the error of a value in the words of its reader."""

    def parsed(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parsed


class Option:
    """One option or argument of a command: a row of its table.

    `read` returns the value of a text, or raises ValueError with what is wrong with it. `also` are
    the words of other commands, such as `mpiexec`, that mean the same: they are understood, and
    neither help nor completion shows them. `sets` names the attribute of a descriptor that the
    option writes, as `"application failures"`, and `for_ranks` the field of the settings of all
    ranks that gets its value. The other `settings` are those of `argparse`; what completes a value
    follows from its `metavar`.
    """

    def __init__(
        self,
        *names: str,
        help: str = "",
        read: Callable[[str], Any] | None = None,
        also: Sequence[str] = (),
        sets: str = "",
        for_ranks: str = "",
        **settings: Any,
    ) -> None:
        self.names = names
        self.help = help
        self.also = also
        self.sets = sets
        self.for_ranks = for_ranks
        self.settings = settings if read is None else {**settings, "type": _told(read)}

    @property
    def dest(self) -> str:
        """Where a parser keeps its value."""
        long = [one for one in self.names if one.startswith("--")]
        name = [*long, *self.names][0].lstrip("-").replace("-", "_")
        return str(self.settings.get("dest", name))

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Add it to a parser, or to a group of one."""
        parser.add_argument(*self.names, help=self.help or None, **self.settings)
        if self.also:
            hidden = {**self.settings, "dest": self.dest}
            parser.add_argument(*self.also, help=argparse.SUPPRESS, **hidden)


class OptionGroup:
    """Options under a `title` in the help; `excludes` those of which only one can be given."""

    def __init__(
        self, *rows: Option | OptionGroup, excludes: bool = False, **settings: Any
    ) -> None:
        self.inside = rows
        self.excludes = excludes
        self.settings = settings

    def add_to(self, parser: argparse._ActionsContainer) -> None:
        """Add all of them to a parser, or to a group of one."""
        make = parser.add_mutually_exclusive_group if self.excludes else parser.add_argument_group
        inner = make(**self.settings)
        for row in self.inside:
            row.add_to(inner)


def each_option(rows: Iterable[Option | OptionGroup]) -> Iterator[Option]:
    """Yield the options of rows, those inside of groups too."""
    for row in rows:
        yield from each_option(row.inside) if isinstance(row, OptionGroup) else [row]


class ShowVersion(argparse.Action):
    """Looks the version up only when asked, because that takes longer than all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        """Print the name of the command with the version, and exit."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            known = version("gcm-grid")
        except PackageNotFoundError:
            known = "of a source tree that is not installed"
        print(f"{parser.prog} {known}")
        parser.exit()


SHELLS = ("bash", "zsh", "fish")
"""The shells that can complete the commands."""


VERSION = Option("--version", action=ShowVersion, nargs=0, help="show the version")
SHELL = Option("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
"""The one argument of a command that prints the script for a shell."""


def port(written: str) -> int:
    """Return the number of a port; raises ValueError if it is none."""
    if written.isascii() and written.isdecimal() and 0 < int(written) < 1 << 16:
        return int(written)
    raise ValueError(f"{written!r} is not a port, 1 to 65535")


def number_of(things: str, most: int = 1 << 20) -> Callable[[str], int]:
    """Return the reader of how many things there are, one at least.

    >>> number_of("ranks")("4")
    4
    """

    def read(written: str) -> int:
        if written.isascii() and written.isdecimal() and 0 < int(written) <= most:
            return int(written)
        raise ValueError(f"'{written}' is not a number of {things}")

    return read


def setting(text: str) -> tuple[str, str]:
    """Return the name and the value of `NAME=VALUE`; raises ValueError for anything else.

    >>> setting("workers=4")
    ('workers', '4')
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"'{text}' is not NAME=VALUE")
    return name.strip(), value
