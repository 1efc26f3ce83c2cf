"""What the command lines of this project have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
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
        found, unknown = super().parse_known_args(words, namespace)
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
        return ("", False) if action is None else (action.dest, action.nargs != 0 and name == word)

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


def add_shell(parser: argparse.ArgumentParser) -> None:
    """Add the one argument of a command that prints the script for a shell."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def setting(text: str) -> tuple[str, str]:
    """Return the name and the value of `NAME=VALUE`; the type of an argument of a parser.

    >>> setting("workers=4")
    ('workers', '4')
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name.strip(), value
