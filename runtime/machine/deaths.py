"""How ranks die: what somebody observed, and the one record that is made of it.

Several may tell of the same end: the rank itself, the parent of its process, its `mpiexec`, or its
front-end. Each tells an `Observation`. The front-end weighs them (`JobEnds`) and makes one
`RankDeath`, which the launcher, the summary, the errors and the other ranks get as it is, the
ranks without its traceback. Evidence that comes later makes another one that `supersedes` it.
Which death came first is decided at the end of the run, by `runtime.lifecycle.failures`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from signal import Signals
from typing import TYPE_CHECKING, Any, Self

from gcm.records import dataclass
from runtime.exit_codes import LOST
from runtime.rank_name import RankName

if TYPE_CHECKING:
    from runtime.topology import RankNames

BY_REQUEST = "request"
"""What stands in `RankDeath.after` of a rank that was told to end."""

FROM_OUTSIDE = (Signals.SIGTERM, Signals.SIGKILL)
"""By these batch systems end what a job has left, and systems what takes too much memory."""

SIGNALLED = 128
"""What a shell adds to the number of a signal to make it an exit code."""


class UnreadableReport(ValueError):
    """Another process has reported something that makes no sense; the message says what."""


class Witness(StrEnum):
    """Who tells how a rank ended. What a program says of its own end counts most."""

    RANK = "rank"
    PARENT = "parent"
    """The process that waits for that of the rank; it tells the time, too."""
    MPIEXEC = "mpiexec"
    """Of all witnesses the worst: it may have ended the rank itself."""
    FRONT_END = "front-end"
    """It concludes the end from what it does not hear any more."""
    LAUNCHER = "launcher"
    """As the front-end, where that is lost too, or where no process was started at all."""


@dataclass(frozen=True, slots=True)
class Observation:
    """How the process of a rank ended, as one witness tells.

    `code` is as a shell has it, `signal` what ended the process, 0 for none. `exception` is the one
    that ended the program, in a line, with its `traceback`; `lost` are ranks that this one had lost
    before, and `is_loss` tells that its exception, or one that led to it, was about just that.
    `why` says more where all this does not. `at` is when a parent saw it, by the monotonic clock of
    that host.
    """

    by: Witness
    code: int
    signal: int = 0
    why: str = ""
    exception: str = ""
    traceback: str = ""
    lost: tuple[RankName, ...] = ()
    is_loss: bool = False
    at: float = 0.0

    @classmethod
    def parse(cls, by: Witness, plain: object) -> Self:
        """Return what another process has sent, as `plain` makes it.

        Raises:
            UnreadableReport: it is something else.
        """
        values = read_fields(plain, _OBSERVED)
        lost = tuple(read_rank(one) for one in values.pop("lost", ()))
        return cls(by, values.pop("code"), lost=lost, **values)

    @property
    def plain(self) -> dict[str, Any]:
        """What travels: the fields that say something, as plain data."""
        values = {name: getattr(self, name) for name in _OBSERVED}
        values["lost"] = [str(one) for one in self.lost]
        return {name: value for name, value in values.items() if value or name == "code"}


@dataclass(frozen=True, slots=True)
class RankDeath:
    """How a rank has ended, well or badly.

    `after` is who had ended it: another rank, the `mpiexec` of a cluster, or `BY_REQUEST`.
    `supersedes` tells that it takes the place of an earlier death of the same process, since more
    has become known. The launcher adds `host` and `when` before it tells the other ranks.

    >>> death = RankDeath(RankName(0, 1, 2), Observation(Witness.PARENT, 137, signal=9))
    >>> death.how, RankDeath.parse(death.plain) == death
    ('was killed by SIGKILL', True)
    """

    rank: RankName
    observed: Observation
    after: str = ""
    supersedes: bool = False
    host: str = ""
    when: str = ""

    @classmethod
    def parse(cls, plain: object) -> Self:
        """Return the death that another process has sent, as `plain` makes it.

        Raises:
            UnreadableReport: it is something else.
        """
        values = read_fields(plain, _REPORTED)
        rank, by = read_rank(values.pop("rank")), values.pop("by")
        if by not in list(Witness):
            raise UnreadableReport(f"'by' is {by!r}, who is no witness")
        return cls(rank, Observation.parse(Witness(by), plain), **values)

    @classmethod
    def lost(cls, rank: RankName, why: str, by: Witness = Witness.LAUNCHER) -> Self:
        """Return the death of a rank of whose process nobody else tells anything."""
        return cls(rank, Observation(by, LOST, exception=why))

    @property
    def plain(self) -> dict[str, Any]:
        """What travels, as plain data."""
        values = {
            "after": self.after, "supersedes": self.supersedes, "host": self.host,
            "when": self.when,
        }  # fmt: skip
        values = {name: value for name, value in values.items() if value}
        return {
            "rank": str(self.rank),
            "by": str(self.observed.by),
            **values,
            **self.observed.plain,
        }

    @property
    def brief(self) -> RankDeath:
        """The same without what may be long: what all other ranks are sent."""
        from dataclasses import replace  # ranks do without

        return replace(self, observed=replace(self.observed, traceback="", lost=()))

    @property
    def who(self) -> str:
        """The name of the rank as text."""
        return str(self.rank)

    @property
    def code(self) -> int:
        """The exit code."""
        return self.observed.code

    @property
    def why(self) -> str:
        """What says more than code, signal and exception."""
        return self.observed.why

    @property
    def is_stated(self) -> bool:
        """Whether the program of the rank has told it; else its process ended without a word."""
        return self.observed.by is Witness.RANK

    @property
    def is_presumed(self) -> bool:
        """Whether nobody has seen its end; then the exception says why it counts as lost."""
        seen = self.observed
        return seen.code == LOST and bool(seen.exception) and not self.is_stated

    @property
    def is_from_outside(self) -> bool:
        """Whether it may have gone with its host, or by who ends processes there."""
        return self.is_presumed or self.observed.signal in FROM_OUTSIDE

    @property
    def ending(self) -> str:
        """The exit code or the signal, as people say it, or why nobody can tell them."""
        seen = self.observed
        if self.is_presumed:
            return seen.exception.partition(". ")[0]
        return in_words(seen.code, seen.signal)

    @property
    def ending_with_reason(self) -> str:
        """The exit code or the signal, and the exception of the program that was the reason."""
        has_reason = self.code and self.observed.exception and not self.is_presumed
        return f"{self.ending}, {self.observed.exception}" if has_reason else self.ending

    @property
    def how(self) -> str:
        """How the rank has ended, as the other ranks are told."""
        seen = self.observed
        if not seen.code:
            return "ended"
        if self.is_presumed:
            return seen.exception
        how = f"was killed by {self.ending}" if seen.signal else f"ended with {self.ending}"
        return f"{how} ({seen.exception})" if seen.exception else how

    def sentence(self, names: RankNames) -> str:
        """Return who died, where, how and when.

        >>> from runtime.topology import NamedCluster, RankNames
        >>> observed = Observation(Witness.PARENT, 137, signal=9)
        >>> death = RankDeath(RankName(0, 1, 0), observed, host="node7", when="14:03:07")
        >>> death.sentence(RankNames({"0:1": NamedCluster("south/cedar", 2)}))
        'rank 2 on node7 was killed by SIGKILL at 14:03:07'
        """
        where = f" on {self.host}" if self.host else ""
        return f"{names.name(self.rank)}{where} {self.how} at {self.when}"


_OBSERVED: dict[str, type | tuple[type, ...]] = {
    "code": int,
    "signal": int,
    "why": str,
    "exception": str,
    "traceback": str,
    "lost": (list, tuple),
    "is_loss": bool,
}
_REPORTED: dict[str, type | tuple[type, ...]] = {
    "rank": str,
    "by": str,
    "after": str,
    "supersedes": bool,
    "host": str,
    "when": str,
}
_NEEDED = ("code", "rank", "by")


def read_fields(
    plain: object,
    kinds: Mapping[str, type | tuple[type, ...]],
    needed: tuple[str, ...] = _NEEDED,
) -> dict[str, Any]:
    """Return the fields that a report has of those that are known, each of its type.

    Raises:
        UnreadableReport: it is no dictionary, lacks one that is `needed`, or has another type.
    """
    if not isinstance(plain, dict):
        raise UnreadableReport(f"it is no dictionary but a {type(plain).__name__}")
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        if name in plain:
            found[name] = value = plain[name]
            if type(value) not in (kind if isinstance(kind, tuple) else (kind,)):
                raise UnreadableReport(f"its '{name}' is a {type(value).__name__}")
        elif name in needed:
            raise UnreadableReport(f"it has no '{name}'")
    return found


def read_rank(text: object) -> RankName:
    """Return the name of a rank that a report has.

    Raises:
        UnreadableReport: it is something else.
    """
    try:
        return RankName.parse(text if isinstance(text, str) else "")
    except ValueError:
        raise UnreadableReport("what should be the name of a rank is none") from None


def in_words(code: int, number: int = 0) -> str:
    """Return an exit code as people say it.

    >>> in_words(7), in_words(139, 11)
    ('exit code 7', 'SIGSEGV')
    """
    if not number:
        return f"exit code {code}"
    try:
        return Signals(number).name
    except ValueError:
        return f"signal {number}"
