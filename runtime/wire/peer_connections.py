"""The connections of a rank to ranks of other clusters, and the loop of its process around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.lazy_import import logger
from runtime.wire.dialling.directory import RankDirectory
from runtime.wire.dialling.line import READ
from runtime.wire.rank_loop import RankLoop
from runtime.wire.rank_peers import RankPeers
from runtime.wire.wake_ups import WakeUps

_log = logger(__name__)

_LONG = 30.0
"""Seconds after which a rank that has ended says for whom it still waits."""


class PeerConnections(RankLoop, RankPeers):
    """The peers of a rank, driven by whichever of its threads waits in a call.

    It takes what `RankPeers` takes.
    """

    def __init__(self, me: int, directory: RankDirectory, *args: Any, **kwargs: Any) -> None:
        RankLoop.__init__(self)
        RankPeers.__init__(self, me, directory, *args, **kwargs)
        self.at_end: Callable[[], None] | None = None
        """What is called once, when all has been sent and all have heard goodbye."""
        self.wake_ups = WakeUps(me, directory)
        """Those of this machine; `ready` returns when somebody wakes this rank."""
        if self.wake_ups.fileno() >= 0:
            self.watch_descriptor(self.wake_ups.fileno(), READ, self.wake_ups.drain)

    def tick(self, now: float, late: float) -> float | None:
        """Do what is due, and return when something will be due again."""
        return self.look_after(now, late)

    def close(self, timeout: float | None = None) -> None:
        """Send what is to be sent, say goodbye to all peers, and hang up; see `leave_taking`.

        It waits until each of them has all of that, has ended, or is lost, for `timeout` seconds at
        most if that is given.
        """
        if self._is_closed:
            return
        self._go_on_until(self.leave, _LONG if timeout is None else timeout)
        if timeout is None and not self.leave():
            _log.warning(
                "%s has ended, and waits until others have what it sent: %s",
                self.describe(self.me), ", ".join(self.awaited()),
            )  # fmt: skip
            self._go_on_until(self.leave, None)
        for one in self.cut_off():
            name = self.describe(one.index)
            _log.warning("%s may not have received the last messages: %s", name, one.why)
        if self.at_end is not None:
            self.at_end()
        self.hang_up()
        self.wake_ups.close()
        self._close_loop()
