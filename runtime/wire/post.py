"""The post of a rank: its connections to ranks of other clusters, and all that moves on them."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.wire.messages import Outgoing


class Post:
    """Sends messages to peers and hands over those that arrive; see the package."""

    def send(
        self, to: int, head: bytes, payload: Sequence[memoryview] = (), *, sync: bool = False
    ) -> Outgoing:
        """Start to send a message; with `sync` it is done only once it has been matched.

        The payload is the concatenation of bytes-shaped views. To a peer that is lost the error is
        there at once.
        """
        raise NotImplementedError

    def progress(self) -> bool:
        """Read and write what can be, without waiting; return whether anything happened."""
        raise NotImplementedError

    def ready(self, timeout: float | None) -> bool:
        """Sleep until `progress` has something to do or `wake` is called; False after `timeout`.

        Any thread may call it, several at a time, and it changes nothing.
        """
        raise NotImplementedError

    def wake(self) -> None:
        """Let all that sleep in `ready` return, or the next one; any thread may call it."""
        raise NotImplementedError

    def watch(self, peer: int) -> None:
        """See to it that the loss of a peer is noticed, also where nothing is sent to it."""
        raise NotImplementedError

    def why_lost(self, peer: int) -> Exception | None:
        """Return why a peer is lost, or None if it is not."""
        raise NotImplementedError

    def close(self, patience: float | None = None) -> None:
        """Send what is to be sent, for at most `patience` seconds, say goodbye, and hang up."""
        raise NotImplementedError
