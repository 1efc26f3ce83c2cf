"""How a rank has ended: what it said itself, what its parent process saw, and what led to it."""

from __future__ import annotations

import signal

from gcm.records import dataclass

BY_REQUEST = "request"
"""What stands in `RankExit.after` of a rank that was told to end."""

SIGNALLED = 128
"""What a shell adds to the number of a signal to make it an exit code."""


@dataclass(frozen=True, slots=True)
class RankExit:
    """The facts beside an exit code.

    `signal` is what ended the process, 0 for none; `exception` is the one that ended the program,
    in a line, with its `traceback`. `lost` are ranks that this one had lost before, and `is_loss`
    tells that its exception, or one that led to it, was just about that. `after` is who had ended
    the rank: another rank, the `mpiexec` of a cluster, or `BY_REQUEST`. What its program itself
    told `is_said`: where that is false the process has ended without a word.
    """

    signal: int = 0
    exception: str = ""
    traceback: str = ""
    lost: tuple[str, ...] = ()
    is_loss: bool = False
    after: str = ""
    is_said: bool = False


def in_words(code: int, number: int = 0) -> str:
    """Return an exit code as people say it.

    >>> in_words(7), in_words(139, 11)
    ('exit code 7', 'SIGSEGV')
    """
    if not number:
        return f"exit code {code}"
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
