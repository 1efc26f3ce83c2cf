"""What the command lines of this project have in common."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn

from gcm.suggestion import did_you_mean


class CommandParser(argparse.ArgumentParser):
    """Refuses options that there are not, and says which one was probably meant."""

    wrong_usage = 2
    """The exit code where the command line is wrong."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line, and leave."""
        self.print_usage(sys.stderr)
        self.exit(self.wrong_usage, f"{self.prog}: error: {message}\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Return what was read, and nothing more."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            known = re.findall(r"(?<!\S)--[a-z-]+", self.format_help())
            hints = [did_you_mean(word.partition("=")[0], known) for word in unknown]
            hint = next((f"; {one}" for one in hints if one), "")
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown


class ShowVersion(argparse.Action):
    """Looks the version up when it is asked for, because that takes longer than all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        """Print the name of the command with the version, and leave."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            known = version("gcm-grid")
        except PackageNotFoundError:
            known = "of a source tree that is not installed"
        print(f"{parser.prog} {known}")
        parser.exit()


def setting(text: str) -> tuple[str, str]:
    """Return the name and the value of `NAME=VALUE`; the type of an argument of a parser.

    >>> setting("workers=4")
    ('workers', '4')
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name.strip(), value
