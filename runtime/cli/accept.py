"""`gcm-deploy accept`: shows results that were kept under other names, and puts them in place."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from enum import Enum
from itertools import islice

from gcm.cli.common_options import Option, OptionGroup
from gcm.cli.output import counted
from runtime.cli.errors import OutputFailed, UsageError
from runtime.cli.line.options import deploy_command
from runtime.cli.streams import write
from runtime.results.acceptance import Acceptance, folder_with_record
from runtime.results.known_results import KeptResult
from runtime.shown_text import shown

_MORE = """\
Results that would take the place of a file of yours, or would be loaded or run, are kept under the
name of their cluster. Shows for each what would change, and asks whether to put it in place: y
does, r removes the result, and what is not answered waits. What was there before goes to the
hidden folder .gcm-former beside it."""

_EPILOG = """\
examples:
  gcm-deploy accept                       all that was kept in the folder of this program
  gcm-deploy accept input.cfg             what clusters made of this file
  gcm-deploy accept --yes out/x.lyon.rhone
                                          put this one in place without asking
  gcm-deploy accept --reject input.cfg    remove what clusters made of this file
  gcm-deploy accept </dev/null            only look"""


MOST_LINES = 200
"""How many lines of a difference are shown."""

LONGEST_LINE = 8192
"""How many characters of a line are shown: two paths have room."""


@deploy_command(
    Option("paths", nargs="*", metavar="PATH", default=["."],
           help="program folders, or files in them under either name; by default this folder"),
    OptionGroup(
        Option("--yes", action="store_true", help="put all in place without asking"),
        Option("--reject", action="store_true", help="remove all without asking"),
        excludes=True,
    ),
    more=_MORE, epilog=_EPILOG,
)  # fmt: skip
def accept(found: argparse.Namespace) -> int:
    """Show results, accept or remove them, and return the exit code.

    Raises:
        UsageError: there are none at a path, or several for one name are to be put in place.
        OutputFailed: one cannot be put in place, or not removed.
    """
    answer = _Answer.YES if found.yes else _Answer.REJECT if found.reject else None
    left = 0
    for home, waiting in _waiting(found.paths):
        if found.yes:
            _refuse_several(waiting)
        for one in waiting:
            try:
                _show(home, one)
                given = answer or _asked(one)
                if given is _Answer.YES:
                    home.accept(one)
                    _say(f"{one.meant_for}: accepted")
                elif given is _Answer.REJECT:
                    home.reject(one)
                    _say(f"{one.path}: removed")
                else:
                    left += 1
                    answer = given if given is _Answer.NONE else None  # nobody else will answer
            except OSError as fault:
                what = "removed" if found.reject else "put in place"
                raise OutputFailed(
                    f"{shown(one.path)} cannot be {what}: {shown(str(fault))}",
                    cure=f"Look at it in {home.home}",
                ) from fault
    if left:
        why = "nobody answers, so " if answer is _Answer.NONE else ""
        write(f"{why}{counted(left, 'result')} {'waits' if left == 1 else 'wait'}\n")
    return 0


class _Answer(Enum):
    """What is to become of a result that was kept under another name."""

    YES = "put it in place"
    LATER = "let it wait"
    REJECT = "remove it"
    NONE = "there is nobody to ask"


def _waiting(paths: Sequence[str]) -> list[tuple[Acceptance, list[KeptResult]]]:
    found = []
    for path in paths:
        home = folder_with_record(path)
        acceptance = Acceptance(home) if home is not None else None
        waiting = acceptance.waiting() if acceptance is not None else []
        if acceptance is not None and home != os.path.abspath(path):
            inside = os.path.relpath(os.path.abspath(path), home)
            waiting = [one for one in waiting if _is_at(one, inside)]
        if acceptance is None or not (waiting or home == os.path.abspath(path)):
            raise UsageError(
                f"no result was kept under another name in {os.path.abspath(path)}",
                cure="Name the folder of the program, or a file that the run has named",
            )
        if not waiting:
            write(f"no result waits in {path}\n")
        found.append((acceptance, waiting))
    return found


def _is_at(one: KeptResult, path: str) -> bool:
    return path in (one.path, one.meant_for) or one.meant_for.startswith(f"{path}/")


def _refuse_several(waiting: Sequence[KeptResult]) -> None:
    counted = Counter(one.meant_for for one in waiting)
    for name, number in counted.items():
        if number > 1:
            these = ", ".join(shown(one.path) for one in waiting if one.meant_for == name)
            raise UsageError(f"{these} are all meant for {shown(name)}", cure="Name one of them")


def _show(home: Acceptance, one: KeptResult) -> None:
    lines = list(islice(home.difference(one), MOST_LINES + 1))
    more = ["..."] if len(lines) > MOST_LINES else []
    for line in [*(lines[:MOST_LINES] or [f"{one.meant_for}: an empty file"]), *more]:
        _say(line)


def _say(text: str, end: str = "\n") -> None:
    """Write a line with names and words of a cluster, which make no further ones."""
    write(shown(text, LONGEST_LINE) + end)


def _asked(one: KeptResult) -> _Answer:
    _say(f"Put {one.path} in the place of {one.meant_for}? [y/N/r] ", end="")
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        write("\n")
    if not answer:
        return _Answer.NONE
    word = answer.strip().casefold()
    if word in ("y", "yes"):
        return _Answer.YES
    return _Answer.REJECT if word in ("r", "reject", "remove") else _Answer.LATER
