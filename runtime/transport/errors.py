"""What can go wrong between two processes that talk; every error names the peer."""

from __future__ import annotations

import errno

from runtime.errors import GridError

_NO_ANSWER = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN)


class TransportError(GridError):
    """The root of what this package raises."""


class FrameError(TransportError):
    """What came over a connection is no frame, or one beyond the limits."""


class AuthenticationFailed(TransportError):
    """The two ends of a connection do not share the secret of the run."""


class NotAMember(AuthenticationFailed):
    """Who connects does not even claim to belong to the run: perhaps an ordinary Pyro5 client."""


class Unreachable(TransportError):
    """Nobody answers at an address."""


class ChannelClosed(TransportError):
    """The connection ended; whatever was awaited over it will not come."""

    @property
    def is_silence(self) -> bool:
        """Whether the host of the other end does not answer: its process may go on there."""
        return isinstance(self.__cause__, OSError) and self.__cause__.errno in _NO_ANSWER

    def without_result_of(self, call: object) -> ChannelClosed:
        """Return why a call that was made over the connection has no result."""
        return ChannelClosed(
            f"the connection ended, so there is no result of {call}",
            place=self.place,
            cause=self.what,
            cure=self.cure,
        )


class NotSendable(TransportError):
    """An argument, a result or an error cannot be sent to another process."""


class RemoteError(TransportError):
    """What was raised at the other end, where the exception itself could not be rebuilt here.

    `kind` is the name of its class, `text` its message, `traceback` where it was raised.
    """

    def __init__(self, kind: str, text: str, traceback: str, *, place: str = "") -> None:
        super().__init__(f"{kind}: {text}" if text else kind, place=place, cause=traceback)
        self.kind = kind
        self.text = text
        self.traceback = traceback

    def __reduce__(self) -> tuple[object, ...]:
        """Let it travel on to a third process."""
        return _remote_error, (self.kind, self.text, self.traceback, self.place)


def _remote_error(kind: str, text: str, traceback: str, place: str) -> RemoteError:
    return RemoteError(kind, text, traceback, place=place)


class RemoteTraceback(Exception):
    """The traceback of the other end, shown as the cause of an exception that crossed."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        """Return the traceback, set off from the local one."""
        return f"\n{self.text.rstrip()}"
