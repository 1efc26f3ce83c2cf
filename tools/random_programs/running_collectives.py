"""Calling collective operations of mpi4py as a step describes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from tools.random_programs import reductions
from tools.random_programs.datatypes import Datatypes, spec
from tools.random_programs.exchanges import (
    NOBODY,
    ROOTED,
    Shares,
    View,
    arriving_layout,
    base_name,
    goes_to_each,
    incoming,
    is_root,
    layout_of,
    outgoing,
    part,
    part_object,
    places,
    takes_part,
)
from tools.random_programs.layouts import UNTOUCHED, Bytes, Layout, deposit
from tools.random_programs.payload import digest_of
from tools.random_programs.program import Step

Finish = Callable[[Any, MPI.Status], str | None]


def start_collective(
    step: Step, comm: Any, view: View, kinds: Datatypes
) -> tuple[MPI.Request | None, Finish]:
    """Call an operation; return its request, if it is a non-blocking one, and what it shows."""
    name = base_name(step)
    if name == "Barrier":
        return getattr(comm, step["name"])(), _nothing
    if step["object"]:
        return None, _object_operation(step, comm, view)
    if name in reductions.REDUCTIONS:
        return _reduction(step, comm, view, kinds)
    if name == "Bcast":
        return _bcast(step, comm, view, kinds)
    return _exchange(step, comm, view, kinds)


def _nothing(*_: Any) -> None:
    return None


def _root(step: Step, view: View) -> dict[str, Any]:
    """Return the argument that names the root as this process has to name it."""
    if base_name(step) not in ROOTED:
        return {}
    if not view.is_inter or view.side != step["root_side"]:
        return {"root": step["root"]}
    return {"root": MPI.ROOT if is_root(step, view) else MPI.PROC_NULL}


def _object_operation(step: Step, comm: Any, view: View) -> Finish:
    name, root = base_name(step), _root(step, view)
    call = getattr(comm, name.lower())
    if name in reductions.REDUCTIONS:
        given = reductions.object_contribution(step, view.side, view.rank)
        seen = call(given, op=getattr(MPI, step["operation"]), **root)
        has_to = reductions.result(step, view) is not None
        return lambda *_: digest_of(seen) if has_to else None
    given = [part_object(step, view.side, view.rank, peer) for peer, _ in outgoing(step, view)]
    single = name in ("Bcast", "Gather", "Allgather")
    seen = call((given[0] if given else None) if single else (given or None), **root)
    return lambda *_: digest_of(seen)


# ---------------------------------------------------------------------------------- reductions


def _reduction(
    step: Step, comm: Any, view: View, kinds: Datatypes
) -> tuple[MPI.Request | None, Finish]:
    name, per_item = base_name(step), reductions.width(step)
    mine = reductions.contribution(step, view.side, view.rank)
    should = reductions.result(step, view)
    kind = _number_kind(step, kinds)
    sending, receiving, more = len(mine) // per_item, len(mine) // per_item, _root(step, view)
    if name.startswith("Reduce_scatter"):
        shares = reductions.counts(step, view.size)
        if name == "Reduce_scatter_block":
            sending = shares[view.rank]  # mpi4py is told the size of one block
        if not step["in_place"] or name == "Reduce_scatter_block":
            receiving = shares[view.rank]
        if name == "Reduce_scatter":
            more["recvcounts"] = shares
    into = np.zeros(max(receiving * per_item, len(mine) * step["in_place"]), mine.dtype)
    given: Any = [mine, sending, kind]
    back: Any = [into, receiving, kind]
    if name == "Reduce" and not is_root(step, view):
        back = None
    elif step["in_place"]:
        given, into[:] = MPI.IN_PLACE, mine
    operation = kinds.operation(step["operation"], step["basic"])
    request = getattr(comm, step["name"])(given, back, op=operation, **more)
    shown = 0 if should is None else len(should)

    def finish(*_: Any, kept: Any = given) -> str | None:
        """Tell the result; until now what is sent has to stay, and mpi4py 4.1 may forget it."""
        del kept
        return None if should is None else digest_of(into[:shown])

    return request, finish


def _number_kind(step: Step, kinds: Datatypes) -> MPI.Datatype:
    if step["operation"] in ("MAXLOC", "MINLOC"):
        return MPI.INT_INT
    if step["operation"] == reductions.AFFINE:
        return kinds.pair(step["basic"])
    found: MPI.Datatype = getattr(MPI, step["basic"])
    return found


# ----------------------------------------------------------------------------------- exchanges


def _bcast(step: Step, comm: Any, view: View, kinds: Datatypes) -> tuple[Any, Finish]:
    layout = layout_of(step, view.side, 0, 0)
    arrives = bool(incoming(step, view))
    image, _ = _area(step, [layout], [(0, step["count"])])
    if is_root(step, view):
        deposit(image, 0, layout, part(step, view.side, view.rank, 0))
    data = spec(image, step["count"], kinds.of(layout)) if takes_part(step, view) else None
    request = getattr(comm, step["name"])(data, **_root(step, view))
    return request, lambda *_: digest_of(image) if arrives else None


def _exchange(step: Step, comm: Any, view: View, kinds: Datatypes) -> tuple[Any, Finish]:
    out, back = outgoing(step, view), incoming(step, view)
    in_place = _is_in_place_here(step, view)
    to_scatter = in_place and base_name(step).startswith("Scatter")
    sent: Any = MPI.IN_PLACE if in_place and not to_scatter else None
    into: Any = MPI.IN_PLACE if to_scatter else None
    image: Bytes | None = None
    if out and sent is None:
        layouts = [layout_of(step, view.side, view.rank, peer) for peer, _ in out]
        area, begins = _area(step, layouts, out)
        for (peer, _), layout, begin in zip(out, layouts, begins, strict=True):
            if peer != NOBODY:
                deposit(area, begin, layout, part(step, view.side, view.rank, peer))
        several = goes_to_each(step)
        sent = _described(
            step, area, layouts, shares=out, begins=begins, kinds=kinds, several=several
        )
    if back and into is None:
        layouts = [arriving_layout(step, view, peer) for peer, _ in back]
        image, begins = _area(step, layouts, back)
        if in_place:
            _fill_in_place(step, view, image, layouts, begins)
        several = not base_name(step).startswith("Scatter")
        into = _described(
            step, image, layouts, shares=back, begins=begins, kinds=kinds, several=several
        )
    request = getattr(comm, step["name"])(sent, into, **_root(step, view))

    def finish(*_: Any, kept: Any = (sent, into)) -> str | None:
        """Tell what has come; until now the memory has to stay, and mpi4py 4.1 may forget it."""
        del kept
        return None if image is None else digest_of(image)

    return request, finish


def _is_in_place_here(step: Step, view: View) -> bool:
    if not step["in_place"]:
        return False
    return is_root(step, view) if base_name(step) in ROOTED else True


def _area(step: Step, layouts: list[Layout], shares: Shares) -> tuple[Bytes, list[int]]:
    begins, end = places(step, layouts, shares)
    return np.full(end, UNTOUCHED, np.uint8), begins


def _fill_in_place(
    step: Step, view: View, image: Bytes, layouts: list[Layout], begins: list[int]
) -> None:
    """Put what this process gives to where the answers will be."""
    everything = base_name(step).startswith("Alltoall")
    for peer in range(view.peers) if everything else [view.rank]:
        receiver = peer if everything else 0
        data = part(step, view.side, view.rank, receiver)
        deposit(image, begins[peer], layouts[peer], data)


def _described(
    step: Step,
    image: Bytes,
    layouts: list[Layout],
    *,
    shares: Shares,
    begins: list[int],
    kinds: Datatypes,
    several: bool,
) -> list[Any]:
    """Return how mpi4py is told of the memory of an exchange."""
    counts = [count for _, count in shares]
    if base_name(step)[-1] == "w":
        return [image, counts, begins, [kinds.of(layout) for layout in layouts]]
    kind = kinds.of(layouts[0])
    if several and base_name(step)[-1] == "v":
        distance = kind.Get_extent()[1]
        return [image, counts, [begin // distance for begin in begins], kind]
    return [image, counts[0], kind]
