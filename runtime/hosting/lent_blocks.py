"""M x N between processes: blocks stay where they are until the member that wants them takes them.

Calls carry names of blocks, over whatever processes they go; each row of an array then goes once,
straight from the process where it lies to the one where it is wanted.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gcm.interfaces.distribution import Mode
from gcm.interfaces.future import Future
from gcm.interfaces.policies.parallel import BlockArray, UnassembledBlock
from gcm.interfaces.signature import Operation
from gcm.invocation import Invocation
from gcm.records import dataclass
from runtime.hosting.channels import HostChannels
from runtime.transport.errors import TransportError

BLOCKS = "@blocks"
"""The interface, on the path of every process, through which others take blocks."""

TAKE = "take"

SMALL = 1 << 14
"""Blocks of fewer bytes travel with the call itself."""

RESULT_SECONDS = 300.0
"""How long a result is kept for members that do not take it, because the call failed elsewhere."""


@dataclass(slots=True)
class _Lent:
    array: Any
    rows_left: int | None
    """How many rows nobody has taken yet; None: kept until the call is over."""


class LentBlocks:
    """The blocks of this process that others may take."""

    def __init__(self, channels: HostChannels, result_seconds: float = RESULT_SECONDS) -> None:
        self._channels = channels
        self._result_seconds = result_seconds
        self._lent: dict[int, _Lent] = {}
        self._tokens = itertools.count(1)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._lent)

    def outgoing(self, value: Any, tokens: list[int] | None) -> Any:
        """Return what stands for a block, or for several, in a message.

        `tokens` collects what to take back when the call is over. Without it each row is kept until
        it was taken, or for so long as results are kept.
        """
        if isinstance(value, UnassembledBlock):
            value = value.blocks()
        if isinstance(value, BlockArray):
            return BlockArray([self._lend(part, tokens) for part in value.parts])
        return self._lend(value, tokens)

    def take(self, token: int, start: int, stop: int) -> Any:
        """Return some rows of a block; what others ask for through `BLOCKS`.

        Raises:
            TransportError: the call that it belonged to is over.
        """
        with self._lock:
            lent = self._lent.get(token)
            if lent is not None and lent.rows_left is not None:
                lent.rows_left -= stop - start
                if lent.rows_left <= 0:
                    del self._lent[token]
        if lent is None:
            raise TransportError(
                f"block {token} is not kept any more: the call it belongs to is over",
                place=self._channels.home,
                cure="Let the members take their blocks before the call returns",
            )
        return lent.array[start:stop]

    def take_back(self, tokens: Sequence[int]) -> None:
        """Keep these blocks no longer."""
        with self._lock:
            for token in tokens:
                self._lent.pop(token, None)

    def _lend(self, part: Any, tokens: list[int] | None) -> Any:
        import numpy as np  # only who exchanges arrays needs it

        large = isinstance(part, np.ndarray) and part.nbytes >= SMALL and part.ndim > 0
        if not large or part.dtype.hasobject:
            return part
        with self._lock:
            token = next(self._tokens)
            self._lent[token] = _Lent(part, None if tokens is not None else len(part))
        if tokens is None:
            self._channels.reactor.later(self._result_seconds, partial(self.take_back, (token,)))
        else:
            tokens.append(token)
        owner = Owner(self._channels.home, self._channels.address, token)
        return DistantBlock(self._channels, owner, 0, part.shape, part.dtype)


@dataclass(frozen=True, slots=True)
class Owner:
    """Where a block lies: the process, where that can be dialled, and the block's number there."""

    home: str
    address: str
    token: int


class DistantBlock:
    """Some rows of an array in another process; numpy can make an array of it."""

    def __init__(
        self, channels: HostChannels, owner: Owner, start: int, shape: tuple[int, ...], dtype: Any
    ) -> None:
        self._channels = channels
        self.owner = owner
        self.start = start
        self.shape = shape
        self.dtype = dtype
        self._asked: Future[Any] | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> DistantBlock:
        """Return some of the rows, not taken yet."""
        start, stop, _ = rows.indices(len(self))
        shape = (max(stop - start, 0), *self.shape[1:])
        return DistantBlock(self._channels, self.owner, self.start + start, shape, self.dtype)

    def ask(self) -> None:
        """Ask for the rows without waiting for them."""
        if self._asked is None:
            owner, stop = self.owner, self.start + len(self)
            if owner.address and owner.home != self._channels.home:
                self._channels.reach(owner.address, owner.home)
            call = Invocation(owner.home, BLOCKS, TAKE, (owner.token, self.start, stop))
            self._asked = self._channels.call(call)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Take the rows; what numpy calls."""
        del copy
        self.ask()
        assert self._asked is not None
        rows = self._asked.result()
        return rows if dtype is None else rows.astype(dtype, copy=False)

    def __repr__(self) -> str:
        stop = self.start + len(self)
        return f"<rows {self.start} to {stop} of block {self.owner.token} of {self.owner.home}>"


def arrived(value: Any) -> Any:
    """Return the array that a message stands for; it waits for the rows that lie elsewhere."""
    if isinstance(value, DistantBlock):
        value = BlockArray([value])
    if isinstance(value, BlockArray):
        return value.whole().assembled()
    return value.assembled() if isinstance(value, UnassembledBlock) else value


def of_blocks(
    operation: Operation,
    change: Callable[[Any], Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with `change` done to those that are blocks of spread arrays."""
    names = [one.name for one in operation.parameters]
    blocks = {
        one.name for one in operation.parameters if one.distribution.mode is Mode.REDISTRIBUTE
    }
    changed = [
        change(value) if name in blocks else value for name, value in zip(names, args, strict=False)
    ]
    return (
        (*changed, *args[len(changed) :]),
        {name: change(value) if name in blocks else value for name, value in kwargs.items()},
    )
