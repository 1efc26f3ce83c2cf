"""Exchanges with neighbours: every block goes from its owner to its receiver directly.

Optimum: the bytes over a link are those of the edges that cross it; one latency, all at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime.collectives.parcels import Blob
from runtime.collectives.port import CollectivePort, Pending, Steps, content


def exchange(
    port: CollectivePort,
    outgoing: Sequence[tuple[int, memoryview]],
    incoming: Sequence[tuple[int, memoryview]],
) -> Steps[None]:
    """Send a block to each destination and receive one from each source.

    Where two members are neighbours more than once, blocks are matched in the order given.
    """
    pending: list[Pending] = [port.receive(rank, block) for rank, block in incoming]
    pending += [port.send(rank, block) for rank, block in outgoing]
    if pending:
        yield pending


def exchange_blobs(
    port: CollectivePort, outgoing: Sequence[tuple[int, Blob]], sources: Sequence[int]
) -> Steps[list[memoryview]]:
    """Send a blob to each destination, and return one from each source."""
    parcels = [port.expect(rank) for rank in sources]
    sent = [port.send(rank, blob) for rank, blob in outgoing]
    if parcels or sent:
        yield [*parcels, *sent]
    return [content(parcel) for parcel in parcels]


def mirrored(slots: int) -> list[int]:
    """Return the order in which a Cartesian member receives: what was sent down comes from above.

    Slots 2d and 2d + 1 are the neighbours below and above in dimension d. A block sent to the
    neighbour below is what that one gets from its neighbour above.

    >>> mirrored(4)
    [1, 0, 3, 2]
    """
    return [slot ^ 1 for slot in range(slots)]
