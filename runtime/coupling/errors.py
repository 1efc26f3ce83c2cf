"""Errors of coupled codes; each names the code concerned."""

from __future__ import annotations

from runtime.errors import GridError


class CouplingError(GridError):
    """The root of the errors of this package."""


class NotCoupled(CouplingError):
    """The program is not a rank of a deployment, or its front-end has gone."""


class UnknownCode(CouplingError):
    """The deployment has no code of that name."""


class NoSuchRank(CouplingError):
    """The code has no rank with that number."""


class CodeEnded(CouplingError):
    """The code, or the rank of it to receive from or send to, has ended.

    `code` and `rank` name it; `rank` is None for the whole code.
    """

    def __init__(self, what: str, *, code: str, rank: int | None, cause: str = "") -> None:
        super().__init__(what, cause=cause, cure="Look at the last lines of its output")
        self.code = code
        self.rank = rank


class CodeBusy(CouplingError):
    """The code cannot be started because it has not ended."""


class CodeNotRunning(CouplingError):
    """The code cannot be stopped because it does not run."""


class CodeNotStarted(CouplingError):
    """The code failed to start."""


class NoSuchPort(CouplingError):
    """The descriptor connects no port of that name of the code."""


class LayoutFault(CouplingError):
    """What codes exchange at a port does not fit together; all ranks of both codes get it."""


class UnknownSetting(CouplingError):
    """The descriptor gives the code no setting of that name, or one that is no such value."""
