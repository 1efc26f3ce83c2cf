"""The errors of peers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from runtime.errors import GridError


class PeerError(GridError):
    """Something about a lab, a peer or a request to one is wrong."""

    @property
    def in_one_line(self) -> str:
        """What is wrong and why, for a list of many; the place is what the list is about."""
        return " ".join(part for part in (self.what, self.cause) if part).replace("\n", "; ")


class NotAuthentic(PeerError):
    """The other end has no credential of this lab, or is not who was expected there."""


class PeerUnreachable(PeerError):
    """Nobody answers at an address of a peer, or the connection has broken."""


class Refused(PeerError):
    """A peer refuses a request; `reason` is one of the words in `runtime.peers.model.Reason`."""

    def __init__(
        self, what: str, *, reason: str = "", place: str = "", cause: str = "", cure: str = ""
    ) -> None:
        super().__init__(what, place=place, cause=cause, cure=cure)
        self.reason = reason


@contextmanager
def of_file(what: str, file: object, cure: str = "") -> Iterator[None]:
    """Raise PeerError, with `what` has failed, where the block cannot read or write a file."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise PeerError(what, place=str(file), cause=str(error), cure=cure) from error
