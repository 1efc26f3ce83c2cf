"""What can go wrong between coupled codes; every error names the code it is about."""

from __future__ import annotations

from runtime.errors import GridError


class CouplingError(GridError):
    """The root of what this package raises."""


class NotCoupled(CouplingError):
    """The program is not a rank of a deployment, or its front-end has gone."""


class UnknownCode(CouplingError):
    """The deployment has no code of that name."""


class NoSuchRank(CouplingError):
    """The code has no rank of that number."""


class CodeEnded(CouplingError):
    """The code, or the rank of it that a message is awaited from or sent to, has ended.

    `code` and `rank` tell which; `rank` is None when it is the whole code.
    """

    def __init__(self, what: str, *, code: str, rank: int | None, cause: str = "") -> None:
        super().__init__(what, cause=cause, cure="Look at the last lines of its output")
        self.code = code
        self.rank = rank


class CodeBusy(CouplingError):
    """The code cannot be started, since it has not ended."""


class CodeNotRunning(CouplingError):
    """The code cannot be stopped, since it does not run."""


class CodeNotStarted(CouplingError):
    """The code was asked to start and could not."""
