"""Completion in shells: the scripts that `gcm completion` and those of the other commands print."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

_FILES = ("FILE", "PATH")
_FOLDERS = ("DIR", "FOLDER")


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script that completes the command of a parser in a shell.

    What a value is follows from how the help calls it: `FILE`, `DIR` and the like.
    """
    import shtab  # slow to import, and needed only for a script

    for action in _actions(parser):
        if hasattr(action, "complete"):
            continue
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks for it
        elif action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return shtab.complete(parser, shell)


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
