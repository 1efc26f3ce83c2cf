"""How the commands write: findings for people or for programs, colours only on a terminal."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, TextIO

from gcm.records import dataclass

if TYPE_CHECKING:
    from gcm.documents import Diagnostic

_INDENT = "    "
_CODES = {"bold": "1", "faint": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


@dataclass(frozen=True, slots=True)
class Paint:
    """Colours text, or leaves it as it is."""

    enabled: bool

    @classmethod
    def on(cls, stream: TextIO) -> Paint:
        """Return the paint for a stream: terminals have colours, unless NO_COLOR is set."""
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(wanted and stream.isatty())

    def __call__(self, text: str, *styles: str) -> str:
        """Return the text in these styles."""
        if not self.enabled or not text:
            return text
        return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"


def written(command: str, do: Callable[[], int], *, reader_left: int, failed: int) -> int:
    """Return the exit code of a command, or another one where its output cannot be written.

    `reader_left` is for a reader, such as `head`, that has seen enough; `failed` for a full disk.
    """
    try:
        try:
            code = do()
        except SystemExit:  # as after --version
            sys.stdout.flush()
            raise
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        forget_output()
        return reader_left
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        forget_output()
        print(f"{command}: the output could not be written: {error.strerror}", file=sys.stderr)
        return failed


def forget_output() -> None:
    """Discard unwritten output, so that the end of the process does not try again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def columns_of(stream: TextIO) -> int:
    """Return how many columns a terminal has; 0 for what is none, where lines may be long."""
    if not stream.isatty():
        return 0
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told):
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return 0


def write_findings(findings: Iterable[Diagnostic], stream: TextIO | None = None) -> None:
    """Write one line for each finding, its detail indented below; the same detail only once."""
    stream = stream or sys.stdout
    paint = Paint.on(stream)
    told = set()
    for found in findings:
        print(_line(found, paint), file=stream)
        detail = "(as above)" if found.detail in told else found.detail
        if found.detail:
            told.add(found.detail)
        for line in detail.splitlines():
            print(f"{_INDENT}{line}".rstrip(), file=stream)


def write_json(value: object) -> None:
    """Write a value as JSON to standard output."""
    import json  # imported for JSON output only

    print(json.dumps(value, indent=2, ensure_ascii=False))


def counted(number: int, word: str) -> str:
    """Return the number and the word, in the plural where there is not one.

    >>> counted(2, "fault")
    '2 faults'
    """
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def not_there(classes: Collection[str]) -> str:
    """Return one line about classes that only the structure of documents can do without.

    >>> not_there(["org.example.Worker"])
    'note: 1 class is not there, and nothing that depends on it was checked: org.example.Worker'
    """
    number = len(classes)
    they = "is not there, and nothing that depends on it" if number == 1 else _ARE_NOT
    shown = ", ".join(sorted(classes))
    return f"note: {number} class{'' if number == 1 else 'es'} {they} was checked: {shown}"


_ARE_NOT = "are not there, and nothing that depends on them"


def _line(found: Diagnostic, paint: Paint) -> str:
    text = str(found)
    if not paint.enabled:
        return text
    place = str(found.location)
    label = f"{found.severity}[{found.code}]"
    from gcm.documents import Severity  # loaded with what was found, and not for `--help`

    colour = "red" if found.severity is Severity.ERROR else "yellow"
    rest = text.removeprefix(f"{place}: {label}")
    return f"{paint(place, 'bold')}: {paint(label, 'bold', colour)}{rest}"
