"""What the command lines of this project have in common."""

from __future__ import annotations

import argparse
from typing import Any


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
