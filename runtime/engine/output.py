"""The lines of ranks, nodes and helpers on their way to the listener: in order, within bounds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from runtime.engine.listener import Listener

MOST_BATCHES = 1000
"""How many batches of output may wait for the listener before their sources have to."""

Batch = Iterable[tuple[int | None, str, str]]


class Output:
    """Passes lines on. `post` lets the engine's thread do something, which alone may `say`."""

    def __init__(self, listener: Listener, post: Callable[[Callable[[], None]], object]) -> None:
        self._listener = listener
        self._post = post
        self._changed = threading.Condition()
        self._announced = 0
        self._is_closed = False

    def announce(self) -> None:
        """Wait for room for a batch; `ranks` or `node` says it later."""
        with self._changed:
            self._changed.wait_for(lambda: self._announced < MOST_BATCHES or self._is_closed)
            self._announced += 1

    def close(self) -> None:
        """Let nobody wait for room any more: what is announced from now on is not said."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def ranks(self, cluster: str, batch: Batch) -> None:
        """Say an announced batch of a cluster; without a rank it was its `mpiexec`."""
        self._make_room()
        for rank, stream, text in batch:
            name = cluster if rank is None else f"{cluster}:{rank}"
            self._listener.line(name, stream, text)

    def node(self, name: str, batch: Iterable[tuple[str, str]]) -> None:
        """Say an announced batch of a node."""
        self._make_room()
        for stream, text in batch:
            self._listener.line(name, stream, text)

    def say(self, name: str, stream: str, text: str) -> None:
        """Say a line now."""
        self._listener.line(name, stream, text)

    def helper(self, name: str, stream: str, text: str) -> None:
        """Say a line of a helper process, from its own thread."""
        self._post(lambda: self._listener.line(name, stream, text))

    def _make_room(self) -> None:
        with self._changed:
            self._announced -= 1
            self._changed.notify()
