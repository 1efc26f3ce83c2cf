"""M x N: arrays that are distributed over the members of one parallel component and go to another.

The members of the calling component pass their blocks; nothing is copied until a member of the
called component takes its own, and then each byte moves once, from block to block. The whole array
never exists.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from gcm.errors import DispatchError, GcmError
from gcm.interfaces.policies.blocks import BlockTransfer, block_bounds, exchange_plan


class BlockArray:
    """An array in contiguous blocks of its first axis, one from each member, in order."""

    def __init__(self, parts: Sequence[Any]) -> None:
        # Those of a parallel component in another one are members like all others.
        self.parts: list[Any] = []
        """The blocks, in order."""
        for part in parts:
            self.parts += part.parts if isinstance(part, BlockArray) else [part]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def whole(self) -> UnassembledBlock:
        """Return the piece that is everything."""
        (piece,) = self.redistributed(1, "the blocks")
        return piece

    def redistributed(self, count: int, label: str) -> list[UnassembledBlock]:
        """Return the pieces that `count` members take.

        Raises:
            DispatchError: a part is no array, or they differ in kind or in their other axes.
        """
        self._check(label)
        lengths = [len(part) for part in self.parts]
        givers = list(pairwise(accumulate(lengths, initial=0)))
        return self._pieces(givers, block_bounds(sum(lengths), count))

    def parted(self, lengths: Sequence[int], label: str) -> list[Any]:
        """Return arrays of these lengths, each the next part of the whole.

        Where parts of it are in other processes they are pieces, for those who take them to put
        together.

        Raises:
            DispatchError: the parts are no arrays that fit, or the whole has another length.
        """
        self._check(label)
        givers = list(pairwise(accumulate(map(len, self.parts), initial=0)))
        takers = list(pairwise(accumulate(lengths, initial=0)))
        if givers[-1][1] != takers[-1][1]:
            raise DispatchError(
                f"{label} has {givers[-1][1]} elements for callers that gave {takers[-1][1]}",
                cure="Return a block as long as the one that came in",
            )
        pieces = self._pieces(givers, takers)
        here = not any(hasattr(part, "ask") for part in self.parts)
        return [piece.assembled() for piece in pieces] if here else list(pieces)

    def _pieces(
        self, givers: Sequence[tuple[int, int]], takers: Sequence[tuple[int, int]]
    ) -> list[UnassembledBlock]:
        transfers: list[list[BlockTransfer]] = [[] for _ in takers]
        for transfer in exchange_plan(givers, takers):
            transfers[transfer.target].append(transfer)
        return [
            UnassembledBlock(self.parts, stop - start, own)
            for (start, stop), own in zip(takers, transfers, strict=True)
        ]

    def _check(self, label: str) -> None:
        kinds = {
            (str(part.dtype), part.shape[1:]) if getattr(part, "shape", ()) else None
            for part in self.parts
        }
        if None in kinds or len(kinds) != 1:
            shown = ", ".join(
                f"{getattr(part, 'dtype', type(part).__name__)}{list(getattr(part, 'shape', []))}"
                for part in self.parts
            )
            raise DispatchError(
                f"the blocks of {label} do not make one array: {shown}",
                cure="Every member has to give an array of the same kind and of the same other "
                "axes, an empty one too",
            )


class UnassembledBlock:
    """The block of one member before it is assembled; copying it makes the array."""

    __slots__ = ("_length", "_transfers", "parts")

    def __init__(
        self, parts: Sequence[Any], length: int, transfers: Sequence[BlockTransfer]
    ) -> None:
        self.parts = parts
        self._length = length
        self._transfers = transfers

    def assembled(self) -> Any:
        """Return the array, each byte moved once from the block where it lies."""
        import numpy as np  # imported only where arrays are exchanged

        first = self.parts[0]
        array = np.empty((self._length, *first.shape[1:]), first.dtype)
        rows = self._rows()
        for part in rows:
            if hasattr(part, "ask"):  # they are in other processes, and are fetched all at once
                part.ask()
        for transfer, part in zip(self._transfers, rows, strict=True):
            array[transfer.target_slice] = part
        return array

    def blocks(self) -> BlockArray:
        """Return the rows as the blocks that they come from, not assembled."""
        return BlockArray(self._rows() or [self.parts[0][:0]])

    def _rows(self) -> list[Any]:
        return [self.parts[one.source][one.source_slice] for one in self._transfers]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return the array: what is passed by value to another member is its own."""
        del memo
        return self.assembled()


def blocks_of(value: Any) -> BlockArray:
    """Return the blocks that an argument consists of, where they lie; a plain array is one."""
    if isinstance(value, UnassembledBlock):
        return value.blocks()
    return value if isinstance(value, BlockArray) else BlockArray([value])


def assembled(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the arguments with arrays in place of pieces."""
    return (
        tuple(
            value.assembled() if isinstance(value, UnassembledBlock) else value for value in args
        ),
        {
            name: value.assembled() if isinstance(value, UnassembledBlock) else value
            for name, value in kwargs.items()
        },
    )


def common_value(values: Sequence[Any], label: str) -> Any:
    """Return the value that all members passed for a parameter that is not a block.

    Raises:
        GcmError: they passed different numbers or texts.
    """
    first = values[0]
    simple = all(isinstance(value, int | float | str | None) for value in values)
    if simple and any(value != first for value in values):
        raise GcmError(
            f"the members passed different values for {label}: "
            + ", ".join(repr(value) for value in values),
            cure="Let all members of a parallel component make the same call",
        )
    return first
