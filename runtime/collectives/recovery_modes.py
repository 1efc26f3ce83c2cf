"""How a communicator recovers from losses: FT-MPI's modes and states, as tables.

A communicator is in one of five states, which losses and recoveries change. Its recovery mode says
what a recovery makes of it, its message mode which calls are admitted until then.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from enum import StrEnum

MOST_TRIES = 3
"""How often ranks are restarted in one recovery if the previous ones are lost at once."""

_BITS = (1 << 31) - 1


class RecoveryMode(StrEnum):
    """What `Dup`, `Split` and `Create` make of a communicator that has lost members."""

    NONE = "none"
    """A communicator as always; recovery is up to the program."""
    SHRINK = "shrink"
    """A communicator of those that are left, with new ranks without gaps."""
    BLANK = "blank"
    """A communicator of the same size; lost ranks are gaps, which can be filled later."""
    REBUILD = "rebuild"
    """A communicator of the same size; lost ranks and gaps are restarted, in their places."""
    REBUILD_AT_END = "rebuild-at-end"
    """The same, but those that are left come first, and the restarted ranks behind them."""
    ABORT = "abort"
    """None: a loss ends the run."""


class MessageMode(StrEnum):
    """Which calls are admitted on a communicator between a loss and its recovery."""

    NOP = "nop"
    """None: all of them raise an error, so that all members come to the recovery soon."""
    CONT = "cont"
    """All that do not need the lost ones."""


class CommunicatorState(StrEnum):
    """The state of a communicator between a loss and its recovery, in FT-MPI's terms."""

    OK = "FT_OK"
    DETECTED = "FT_DETECTED"
    RECOVER = "FT_RECOVER"
    RECOVERED = "FT_RECOVERED"
    FAILED = "FT_FAILED"


class ProcessState(StrEnum):
    """The state of a process that has a rank, in FT-MPI's terms."""

    OK = "OK"
    UNAVAILABLE = "Unavailable"
    """It cannot be reached, and is not known to have ended."""
    JOINING = "Joining"
    """A replacement is being started, or has been."""
    FAILED = "Failed"


class CommunicatorEvent(StrEnum):
    """The events of a communicator."""

    LOSS = "a member is lost"
    RECOVERY = "a recovery begins"
    NOTHING_LOST = "all members agree that nobody is lost"
    RECOVERED = "another communicator has taken its place"
    NOT_RECOVERED = "the recovery came to nothing"


_S, _E = CommunicatorState, CommunicatorEvent
TRANSITIONS: dict[tuple[CommunicatorState, CommunicatorEvent], CommunicatorState] = {
    (_S.OK, _E.LOSS): _S.DETECTED,
    (_S.OK, _E.RECOVERY): _S.RECOVER,
    (_S.DETECTED, _E.LOSS): _S.DETECTED,
    (_S.DETECTED, _E.RECOVERY): _S.RECOVER,
    (_S.RECOVER, _E.LOSS): _S.RECOVER,
    (_S.RECOVER, _E.NOTHING_LOST): _S.OK,
    (_S.RECOVER, _E.RECOVERED): _S.RECOVERED,
    (_S.RECOVER, _E.NOT_RECOVERED): _S.FAILED,
    (_S.RECOVERED, _E.LOSS): _S.RECOVERED,
    (_S.RECOVERED, _E.RECOVERY): _S.RECOVER,
    (_S.FAILED, _E.LOSS): _S.FAILED,
    (_S.FAILED, _E.RECOVERY): _S.RECOVER,
}
"""The next state for a state and an event; a pair that is missing cannot happen."""

_ADMITTED = {
    (state, mode): state is CommunicatorState.OK or mode is MessageMode.CONT
    for state in CommunicatorState
    for mode in MessageMode
}

RECOVERY_KEY, MESSAGES_KEY, STRICT_KEY = "gcm_recovery", "gcm_recovery_messages", "gcm_strict"
"""The keys of an `MPI.Info` for the modes of a communicator."""

_YES_NO = {"true": True, "false": False, "yes": True, "no": False}


class IllegalTransition(Exception):
    """An event that cannot happen to a communicator in its state, which stays as it is."""


class Modes:
    """The modes of a communicator; `is_strict` says that its collectives end with an agreement.

    >>> str(Modes.of({"gcm_recovery": "blank", "gcm_recovery_messages": "cont"}))
    'blank, cont'
    >>> Modes.of({"gcm_recovery": "heal"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: gcm_recovery is 'heal', and not one of none, shrink, blank, rebuild, ...
    """

    def __init__(
        self,
        recovery: RecoveryMode = RecoveryMode.NONE,
        messages: MessageMode | None = None,
        *,
        is_strict: bool = False,
    ) -> None:
        """Set the modes; the message mode defaults to NOP where there is a recovery, else CONT."""
        usual = MessageMode.CONT if recovery is RecoveryMode.NONE else MessageMode.NOP
        self.recovery = recovery
        self.messages = messages or usual
        self.is_strict = is_strict

    @property
    def fills_gaps(self) -> bool:
        """Whether a recovery restarts ranks, those of gaps that were left before among them."""
        return self.recovery in (RecoveryMode.REBUILD, RecoveryMode.REBUILD_AT_END)

    @property
    def puts_newcomers_last(self) -> bool:
        """Whether restarted ranks come behind those that are left."""
        return self.recovery is RecoveryMode.REBUILD_AT_END

    @classmethod
    def of(cls, info: Mapping[str, str], before: Modes | None = None) -> Modes:
        """Return the modes in an info, with those `before` as defaults.

        Raises:
            ValueError: there is no such mode.
        """
        told = dict(before.as_hints()) if before is not None else {}
        if RECOVERY_KEY in info:
            told.pop(MESSAGES_KEY, None)
        told.update((key, info[key]) for key in KEYS if key in info)
        recovery = _one(RECOVERY_KEY, told.get(RECOVERY_KEY, "none"), RecoveryMode)
        messages = told.get(MESSAGES_KEY)
        strict = told.get(STRICT_KEY, "false")
        if strict not in _YES_NO:
            raise ValueError(f"{STRICT_KEY} is {strict!r}, and not one of {', '.join(_YES_NO)}")
        return cls(
            RecoveryMode(recovery),
            None if messages is None else MessageMode(_one(MESSAGES_KEY, messages, MessageMode)),
            is_strict=_YES_NO[strict],
        )

    def as_hints(self) -> dict[str, str]:
        """Return the modes as the keys and values of an info."""
        return {
            RECOVERY_KEY: self.recovery.value,
            MESSAGES_KEY: self.messages.value,
            STRICT_KEY: "true" if self.is_strict else "false",
        }

    def __str__(self) -> str:
        return f"{self.recovery}, {self.messages}{', strict' if self.is_strict else ''}"


KEYS = (RECOVERY_KEY, MESSAGES_KEY, STRICT_KEY)


class CommunicatorLife:
    """The modes and the state of one communicator.

    >>> life = CommunicatorLife(Modes(RecoveryMode.REBUILD))
    >>> life.happens(CommunicatorEvent.LOSS)
    >>> str(life.state), life.admits_messages
    ('FT_DETECTED', False)
    """

    def __init__(self, modes: Modes | None = None) -> None:
        self.modes = modes or Modes()
        self.state = CommunicatorState.OK

    def happens(self, event: CommunicatorEvent) -> None:
        """Change to the next state; raises IllegalTransition."""
        found = TRANSITIONS.get((self.state, event))
        if found is None:
            raise IllegalTransition(f"{event} cannot happen in {self.state}")
        self.state = found

    @property
    def admits_messages(self) -> bool:
        """Whether calls that do not need the lost ones are admitted now."""
        return _ADMITTED[self.state, self.modes.messages]


def with_places_taken(
    group: Iterable[int], newest: Mapping[int, int], *, at_end: bool = False
) -> tuple[int, ...]:
    """Return a group whose lost members, the keys of `newest`, are replaced by their successors.

    >>> with_places_taken((0, 1, 2), {1: 3}), with_places_taken((0, 1, 2), {1: 3}, at_end=True)
    ((0, 3, 2), (0, 2, 3))
    """
    if not at_end:
        return tuple(newest.get(one, one) for one in group)
    group = tuple(group)
    left = (one for one in group if one not in newest)
    return (*left, *(newest[one] for one in group if one in newest))


def flag_of_newcomers(newest: Iterable[int], *, have_come: bool) -> int:
    """Return a flag that says whether replacements have come, and which ones are meant.

    The bitwise AND of several such flags tells whether all mean the same processes, because a
    number and its complement stay complements only if all the numbers are equal.
    """
    number = zlib.crc32(repr(sorted(newest)).encode()) & _BITS
    return have_come << 62 | number << 31 | (number ^ _BITS)


def agreed_newcomers(flag: int) -> tuple[bool, bool]:
    """Return from an AND of flags whether all say that replacements have come, and the same ones.

    >>> agreed_newcomers(flag_of_newcomers([3], have_come=True))
    (True, True)
    """
    return bool(flag >> 62), (flag >> 31 & _BITS) ^ (flag & _BITS) == _BITS


def _one(key: str, value: str, kind: type[StrEnum]) -> str:
    known = [one.value for one in kind]
    if value not in known:
        raise ValueError(f"{key} is {value!r}, and not one of {', '.join(known)}")
    return value
