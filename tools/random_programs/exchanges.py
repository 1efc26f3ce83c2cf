"""Who gets which bytes from whom in the collective operations that move data."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from runtime.calls import COLLECTIVES
from tools.random_programs.layouts import Bytes, Layout, extent, item_size
from tools.random_programs.payload import random_bytes, random_number, random_object
from tools.random_programs.program import Groups, Step

_MOVING = [
    one
    for one in COLLECTIVES.values()
    if not one.takes_objects and one.arguments and not one.takes("reduction")
]
EXCHANGES = tuple(one.name for one in _MOVING if one.of == "Comm")
NEIGHBOURLY = tuple(one.name for one in _MOVING if one.of == "Topocomm")
NOBODY = -1
"""Stands for a neighbour that is not there, beyond the edge of a Cartesian grid."""

ROOTED = tuple(name for name, one in COLLECTIVES.items() if one.takes("root"))

Shares = list[tuple[int, int]]
"""Ranks with the number of items that come from them or go to them."""


@dataclass(frozen=True)
class View:
    """How one process sees a communicator: its own place, and those whom it exchanges with."""

    side: int
    rank: int
    size: int
    peers: int
    is_inter: bool

    @property
    def far_side(self) -> int:
        """Return the side that the peers are on."""
        return 1 - self.side if self.is_inter else self.side


def view_of(groups: Groups, process: int) -> View:
    """Return how a process sees a communicator of these groups."""
    side = next(number for number, group in enumerate(groups) if process in group)
    far = groups[1 - side] if len(groups) > 1 else groups[0]
    own = groups[side]
    return View(side, own.index(process), len(own), len(far), len(groups) > 1)


def base_name(step: Step) -> str:
    """Return the name of a collective operation without what makes it non-blocking."""
    name: str = step["name"]
    return name[1:].capitalize() if name[0] == "I" else name


def is_root(step: Step, view: View) -> bool:
    """Tell whether this process is the root."""
    return (view.side, view.rank) == (step["root_side"], step["root"])


def takes_part(step: Step, view: View) -> bool:
    """Tell whether this process is the root or one of those whom it exchanges with."""
    return not view.is_inter or view.side != step["root_side"] or is_root(step, view)


def amount(step: Step, side: int, sender: int, receiver: int) -> int:
    """Return how many items one process sends another."""
    if base_name(step)[-1] not in "vw":
        return int(step["count"])
    return random_number(step["count"], step["seed"], *_pair(step, side, sender, receiver))


def layout_of(step: Step, side: int, sender: int, receiver: int) -> Layout:
    """Return the datatype of what one process sends another; only `w` has more than one."""
    layouts: list[Layout] = step["layouts"]
    pair = _pair(step, side, sender, receiver)
    return layouts[random_number(len(layouts) - 1, step["seed"], 1, *pair)]


def part(step: Step, side: int, sender: int, receiver: int) -> Bytes:
    """Return the bytes that one process sends another."""
    size = amount(step, side, sender, receiver) * item_size(layout_of(step, side, sender, receiver))
    return random_bytes(size, step["seed"], side, sender, receiver)


def _pair(step: Step, side: int, sender: int, receiver: int) -> tuple[int, int, int]:
    """Return who exchanges; what is exchanged in place has the same size in both directions."""
    if step["in_place"] and base_name(step).startswith("Alltoall"):
        return side, min(sender, receiver), max(sender, receiver)
    return side, sender, receiver


def incoming(step: Step, view: View) -> Shares:
    """Return from whom this process gets how many items."""
    side = view.far_side
    match base_name(step):
        case "Neighbor_allgather" | "Neighbor_allgatherv":
            return [(peer, amount(step, 0, peer, 0)) for peer in step["sources"][view.rank]]
        case "Neighbor_alltoall" | "Neighbor_alltoallv" | "Neighbor_alltoallw":
            return [(peer, amount(step, 0, peer, view.rank)) for peer in step["sources"][view.rank]]
        case "Gather" | "Gatherv":
            everybody = range(view.peers) if is_root(step, view) else range(0)
            return [(peer, amount(step, side, peer, 0)) for peer in everybody]
        case "Allgather" | "Allgatherv":
            return [(peer, amount(step, side, peer, 0)) for peer in range(view.peers)]
        case "Bcast" if is_root(step, view):
            return []
        case "Bcast" | "Scatter" | "Scatterv" as name:
            if view.is_inter and view.side == step["root_side"]:
                return []
            receiver = 0 if name == "Bcast" else view.rank
            return [(step["root"], amount(step, side, step["root"], receiver))]
        case _:
            return [(peer, amount(step, side, peer, view.rank)) for peer in range(view.peers)]


def outgoing(step: Step, view: View) -> Shares:
    """Return to whom this process sends how many items."""
    side, me = view.side, view.rank
    match base_name(step):
        case "Neighbor_alltoall" | "Neighbor_alltoallv" | "Neighbor_alltoallw":
            return [(peer, amount(step, 0, me, peer)) for peer in step["destinations"][me]]
        case "Bcast":
            return [(0, amount(step, side, me, 0))] if is_root(step, view) else []
        case "Scatter" | "Scatterv":
            everybody = range(view.peers) if is_root(step, view) else range(0)
            return [(peer, amount(step, side, me, peer)) for peer in everybody]
        case "Gather" | "Gatherv" if view.is_inter and view.side == step["root_side"]:
            return []
        case "Gather" | "Gatherv" | "Allgather" | "Allgatherv":
            return [(0, amount(step, side, me, 0))]
        case "Neighbor_allgather" | "Neighbor_allgatherv":
            return [(0, amount(step, 0, me, 0))]
        case _:
            return [(peer, amount(step, side, me, peer)) for peer in range(view.peers)]


def arriving_part(step: Step, view: View, peer: int) -> Bytes:
    """Return the bytes that come from a peer."""
    return part(step, view.far_side, peer, _receiver(step, view))


def arriving_layout(step: Step, view: View, peer: int) -> Layout:
    """Return the datatype of what comes from a peer."""
    return layout_of(step, view.far_side, peer, _receiver(step, view))


def arriving_object(step: Step, view: View, peer: int) -> Any:
    """Return the object that comes from a peer."""
    return part_object(step, view.far_side, peer, _receiver(step, view))


def part_object(step: Step, side: int, sender: int, receiver: int) -> Any:
    """Return the object that one process sends another."""
    return random_object(step["count"], step["seed"], side, sender, receiver)


def _receiver(step: Step, view: View) -> int:
    """Return what stands for this process where only some operations care who receives."""
    return view.rank if goes_to_each(step) else 0


def goes_to_each(step: Step) -> bool:
    """Tell whether an operation sends something else to each receiver."""
    return "catter" in base_name(step) or "alltoall" in base_name(step).lower()


def places(step: Step, layouts: list[Layout], shares: Shares) -> tuple[list[int], int]:
    """Return where in memory each share begins, in bytes, and where the memory ends.

    With `v` and `w` they lie in any order, with gaps.
    """
    lengths = [extent(one) * count for one, (_, count) in zip(layouts, shares, strict=True)]
    if base_name(step)[-1] not in "vw":
        ends = [0, *accumulate(lengths)]
        return ends[:-1], ends[-1]
    order = sorted(range(len(shares)), key=lambda index: (index * 7 + step["seed"]) % 5)
    begins, end = [0] * len(shares), 0
    for index in order:
        begins[index] = end
        end += lengths[index] + extent(layouts[index]) * (index % 2)
    return begins, end
