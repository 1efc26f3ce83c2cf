"""A program that gives every call numbers of every kind, and tells what became of each.

It says the same under plain `mpiexec` and on a grid, if the grid takes numbers as mpi4py does. Each
case is one call, and does the rest of the exchange with plain numbers; all ranks do the same, so
what is refused is refused by all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from mpi4py import MPI

Make = Callable[[int], Any]
Case = Callable[[MPI.Intracomm, int, Make], Any]


class Index:
    """A number that is an index only."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


class Int:
    """A number that becomes an integer only."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __int__(self) -> int:
        return self.number


class Both(Index, Int):
    """A number that is an index and becomes an integer."""


class Derived(int):
    """An integer of another class."""


KINDS: dict[str, Make] = {
    "int": int,
    "float": lambda number: number + 0.5,
    "whole float": float,
    "float64": lambda number: np.float64(number + 0.25),
    "float32": lambda number: np.float32(number + 0.25),
    "int64": np.int64,
    "uint8": np.uint8,
    "0-d array": np.array,
    "0-d float array": lambda number: np.array(number + 0.5),
    "array": lambda number: np.array([number]),
    "index": Index,
    "int()": Int,
    "both": Both,
    "derived": Derived,
    "bool": lambda number: bool(number) if number in {0, 1} else number,
    "bool_": lambda number: np.bool_(number) if number in {0, 1} else number,
    "Decimal": lambda number: Decimal(number) + Decimal("0.5"),
    "Fraction": lambda number: Fraction(2 * number + 1, 2),
    "complex": complex,
    "str": str,
    "bytes": lambda number: str(number).encode(),
    "None": lambda _: None,
    "list": lambda number: [number],
    "nan": lambda _: float("nan"),
    "inf": lambda _: float("inf"),
    "large": lambda number: (1 << 31) + number,
    "larger": lambda number: (1 << 63) + number,
    "largest": lambda number: (1 << 70) + number,
    "object": lambda _: object(),
}


def received(w: MPI.Intracomm, peer: int, call: Callable[[], Any], tag: int = 7) -> Any:
    """Return what the call of another process sends here, once mine has been made."""
    sent = call()
    if isinstance(sent, MPI.Prequest):
        sent.Start()
    coming = np.zeros(4, "i")
    w.Recv(coming, peer, tag)
    if isinstance(sent, MPI.Request):
        sent.Wait()
        if isinstance(sent, MPI.Prequest):
            sent.Free()
    return coming.tolist()


def taken(w: MPI.Intracomm, peer: int, call: Callable[[np.ndarray], Any], tag: int = 7) -> Any:
    """Return what a call receives of what the other process sends."""
    sent = w.Isend(np.array([w.rank, 5, 6, 7], "i"), peer, tag)
    room = np.zeros(4, "i")
    try:
        found = call(room)
    except BaseException:
        w.Recv(room, peer, tag)
        sent.Wait()
        raise
    if isinstance(found, MPI.Prequest):
        found.Start()
    if isinstance(found, MPI.Request):
        found.Wait()
        if isinstance(found, MPI.Prequest):
            found.Free()
    elif isinstance(found, MPI.Message):
        found.Recv(room)
    elif isinstance(found, bool):
        w.Recv(room, peer, tag)
    sent.Wait()
    return room.tolist()


def object_taken(w: MPI.Intracomm, peer: int, call: Callable[[], Any]) -> Any:
    """Return the object that a call receives."""
    sent = w.isend(("from", w.rank), peer, 7)
    try:
        found = call()
    except BaseException:
        w.recv(source=peer, tag=7)
        sent.wait()
        raise
    if isinstance(found, MPI.Request):
        found = found.wait()
    elif isinstance(found, MPI.Message):
        found = found.recv()
    sent.wait()
    return found


def object_received(w: MPI.Intracomm, peer: int, call: Callable[[], Any]) -> Any:
    """Return the object that the call of another process sends here."""
    sent = call()
    found = w.recv(source=peer, tag=7)
    if isinstance(sent, MPI.Request):
        sent.wait()
    return found


def data(w: MPI.Intracomm) -> np.ndarray:
    """Return what is sent."""
    return np.array([w.rank, 1, 2, 3], "i")


def calls_with_ranks() -> dict[str, Case]:
    """Return the cases of messages between two processes."""

    def sends(name: str) -> dict[str, Case]:
        def call(w: MPI.Intracomm, p: int, *there: Any) -> Any:
            return received(w, p, lambda: getattr(w, name)(data(w), *there))

        return {
            f"{name} dest": lambda w, p, k: call(w, p, k(p), 7),
            f"{name} tag": lambda w, p, k: call(w, p, p, k(7)),
        }

    def receives(name: str) -> dict[str, Case]:
        def call(w: MPI.Intracomm, p: int, *there: Any) -> Any:
            return taken(w, p, lambda room: getattr(w, name)(room, *there))

        return {
            f"{name} source": lambda w, p, k: call(w, p, k(p), 7),
            f"{name} tag": lambda w, p, k: call(w, p, p, k(7)),
        }

    def probes(name: str) -> dict[str, Case]:
        def call(w: MPI.Intracomm, p: int, *there: Any) -> Any:
            return taken(w, p, lambda _: getattr(w, name)(*there))

        return {
            f"{name} source": lambda w, p, k: call(w, p, k(p), 7),
            f"{name} tag": lambda w, p, k: call(w, p, p, k(7)),
        }

    def looks(name: str) -> dict[str, Case]:
        return {
            f"{name} source": lambda w, p, k: getattr(w, name)(k(p), 11),
            f"{name} tag": lambda w, p, k: getattr(w, name)(p, k(11)),
        }

    def object_sends(name: str) -> dict[str, Case]:
        def call(w: MPI.Intracomm, p: int, *there: Any) -> Any:
            return object_received(w, p, lambda: getattr(w, name)(["x"], *there))

        return {
            f"{name} dest": lambda w, p, k: call(w, p, k(p), 7),
            f"{name} tag": lambda w, p, k: call(w, p, p, k(7)),
        }

    def object_receives(name: str) -> dict[str, Case]:
        def call(w: MPI.Intracomm, p: int, source: Any, tag: Any) -> Any:
            return object_taken(w, p, lambda: getattr(w, name)(source=source, tag=tag))

        return {
            f"{name} source": lambda w, p, k: call(w, p, k(p), 7),
            f"{name} tag": lambda w, p, k: call(w, p, p, k(7)),
        }

    forms: list[tuple[Callable[[str], dict[str, Case]], str]] = [
        (sends, "Send Isend Issend Rsend Irsend Send_init Ssend_init"),
        (receives, "Recv Irecv Recv_init"),
        (probes, "Probe Mprobe probe"),
        (looks, "Iprobe Improbe iprobe improbe"),
        (object_sends, "send isend issend"),
        (object_receives, "recv irecv mprobe"),
    ]
    found: dict[str, Case] = {}
    for cases, names in forms:
        for name in names.split():
            found |= cases(name)
    return found


def exchanges() -> dict[str, Case]:
    """Return the cases of calls that send and receive."""
    room = np.zeros(4, "i")
    mine = np.zeros(4, "i")

    def exchange(w: MPI.Intracomm, *words: Any) -> Any:
        room[:] = 0
        w.Sendrecv(data(w), words[0], words[1], room, words[2], words[3])
        return room.tolist()

    def replaced(w: MPI.Intracomm, *words: Any) -> Any:
        mine[:] = data(w)
        w.Sendrecv_replace(mine, *words)
        return mine.tolist()

    def swapped(w: MPI.Intracomm, *words: Any) -> Any:
        return w.sendrecv(w.rank, words[0], words[1], None, words[2], words[3])

    def ends(name: str, call: Callable[..., Any]) -> dict[str, Case]:
        return {
            f"{name} dest": lambda w, p, k: call(w, k(p), 3, p, 3),
            f"{name} sendtag": lambda w, p, k: call(w, p, k(3), p, 3),
            f"{name} source": lambda w, p, k: call(w, p, 3, k(p), 3),
            f"{name} recvtag": lambda w, p, k: call(w, p, 3, p, k(3)),
        }

    return (
        ends("Sendrecv", exchange) | ends("Sendrecv_replace", replaced) | ends("sendrecv", swapped)
    )


def calls_with_counts() -> dict[str, Case]:
    """Return the cases of messages with counts and displacements."""

    def sent(parts: Callable[[np.ndarray, Make], Sequence[Any]]) -> Case:
        return lambda w, p, k: received(w, p, lambda: w.Isend(parts(data(w), k), p, 7))

    def got(parts: Callable[[np.ndarray, Make], Sequence[Any]]) -> Case:
        return lambda w, p, k: taken(w, p, lambda room: w.Irecv(parts(room, k), p, 7))

    return {
        "count sent": sent(lambda a, k: [a, k(2), MPI.INT]),
        "count sent without type": sent(lambda a, k: [a, k(2)]),
        "displacement sent": sent(lambda a, k: [a, 2, k(1), MPI.INT]),
        "pair sent": sent(lambda a, k: [a, (k(2), k(1)), MPI.INT]),
        "count received": got(lambda a, k: [a, k(4), MPI.INT]),
        "displacement received": got(lambda a, k: [a, 4, k(0), MPI.INT]),
    }


def collectives() -> dict[str, Case]:
    """Return the cases of collectives with a root."""

    def buffers(name: str) -> Case:
        def call(w: MPI.Intracomm, _: int, k: Make) -> Any:
            whole, part = np.arange(w.size, dtype="d"), np.array([w.rank + 1.0])
            into = np.zeros(w.size)
            if name in {"Scatter", "Iscatter", "Scatterv"}:
                run = getattr(w, name)(whole, part, k(1))
                into = part
            elif name in {"Bcast", "Ibcast"}:
                run, into = getattr(w, name)(part, k(1)), part
            elif name in {"Reduce", "Ireduce"}:
                run = getattr(w, name)(part, into[:1], MPI.SUM, k(1))
            else:
                run = getattr(w, name)(part, into, k(1))
            if isinstance(run, MPI.Request):
                run.Wait()
            return into.tolist()

        return call

    found = {
        f"{name} root": buffers(name)
        for name in (
            *("Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Reduce"),
            *("Ibcast", "Igather", "Iscatter", "Ireduce"),
        )
    }
    found |= {
        "bcast root": lambda w, _, k: w.bcast(w.rank, k(1)),
        "gather root": lambda w, _, k: w.gather(w.rank, k(1)),
        "scatter root": lambda w, _, k: w.scatter(list(range(w.size)), k(1)),
        "reduce root": lambda w, _, k: w.reduce(w.rank, MPI.SUM, k(1)),
    }
    return found


def collectives_with_counts() -> dict[str, Case]:
    """Return the cases of collectives with counts and displacements."""

    def counted(parts: Callable[[np.ndarray, int, Make], Any]) -> Case:
        def call(w: MPI.Intracomm, _: int, k: Make) -> Any:
            into = np.zeros(2 * w.size, "i")
            w.Allgatherv([data(w), 2, MPI.INT], parts(into, w.size, k))
            return into.tolist()

        return call

    def scattered(counts: Callable[[int, Make], Any]) -> Case:
        def call(w: MPI.Intracomm, _: int, k: Make) -> Any:
            into = np.zeros(1, "i")
            w.Reduce_scatter(np.arange(w.size, dtype="i"), into, counts(w.size, k))
            return into.tolist()

        return call

    def exchanged(w: MPI.Intracomm, _: int, k: Make) -> Any:
        into = np.zeros(w.size, "i")
        kinds = [MPI.INT] * w.size
        places = [k(4 * n) for n in range(w.size)]
        w.Alltoallw(
            [np.arange(w.size, dtype="i"), [k(1)] * w.size, places, kinds],
            [into, [1] * w.size, [4 * n for n in range(w.size)], kinds],
        )
        return into.tolist()

    return {
        "counts": counted(lambda a, n, k: [a, [k(2)] * n, None, MPI.INT]),
        "one count": counted(lambda a, _, k: [a, k(2), None, MPI.INT]),
        "displacements": counted(
            lambda a, n, k: [a, [2] * n, [k(2 * place) for place in range(n)], MPI.INT]
        ),
        "one displacement": counted(lambda a, _, k: [a, 2, k(2), MPI.INT]),
        "too few counts": counted(lambda a, n, k: [a, [k(2)] * (n - 1), None, MPI.INT]),
        "a tuple": counted(lambda a, n, k: [a, ([k(2)] * n, k(2)), MPI.INT]),
        "recvcounts": scattered(lambda n, k: [k(1)] * n),
        "one recvcount": scattered(lambda _, k: k(1)),
        "generated recvcounts": scattered(lambda n, k: (k(1) for _ in range(n))),
        "Alltoallw": exchanged,
    }


def freed(comm: MPI.Comm, look: Callable[[Any], Any] = lambda comm: (comm.rank, comm.size)) -> Any:
    """Return what is to be seen of a communicator, and free it."""
    if comm == MPI.COMM_NULL:
        return None
    try:
        return look(comm)
    finally:
        comm.Free()


def communicators() -> dict[str, Case]:
    """Return the cases of calls that make communicators."""

    def split(split_type: Any, key: Any) -> Case:
        return lambda w, _, k: freed(w.Split_type(split_type(k), key(k)), lambda one: one.rank >= 0)

    def leaders(w: MPI.Intracomm, parts: Callable[[], tuple[Any, Any, Any]]) -> Any:
        local, remote, tag = parts()
        half = MPI.Intracomm(w.Split(w.rank % 2, 0))
        try:
            return freed(half.Create_intercomm(local, w, remote, tag), lambda one: one.remote_size)
        finally:
            half.Free()

    def merged(w: MPI.Intracomm, _: int, k: Make) -> Any:
        half = MPI.Intracomm(w.Split(w.rank % 2, 0))
        both = half.Create_intercomm(0, w, 1 - w.rank % 2, 5)
        try:
            return freed(both.Merge(k(w.rank % 2)))
        finally:
            both.Free()
            half.Free()

    return {
        "Split color": lambda w, _, k: freed(w.Split(k(w.rank % 2), 0)),
        "Split key": lambda w, _, k: freed(w.Split(0, k(w.size - w.rank))),
        "Split_type type": split(lambda k: k(MPI.UNDEFINED), lambda _: 0),
        "Split_type key": split(lambda _: MPI.COMM_TYPE_SHARED, lambda k: k(1)),
        "Create_group tag": lambda w, _, k: freed(w.Create_group(w.group, k(3))),
        "local_leader": lambda w, _, k: leaders(w, lambda: (k(0), 1 - w.rank % 2, 3)),
        "remote_leader": lambda w, _, k: leaders(w, lambda: (0, k(1 - w.rank % 2), 3)),
        "Create_intercomm tag": lambda w, _, k: leaders(w, lambda: (0, 1 - w.rank % 2, k(3))),
        "Merge high": merged,
    }


def topologies() -> dict[str, Case]:
    """Return the cases of topologies."""

    def on_cart(look: Callable[[Any, Make], Any]) -> Case:
        def call(w: MPI.Intracomm, _: int, k: Make) -> Any:
            return freed(w.Create_cart([2, w.size // 2], [True, True]), lambda one: look(one, k))

        return call

    def on_graph(look: Callable[[Any, Make], Any]) -> Case:
        def call(w: MPI.Intracomm, _: int, k: Make) -> Any:
            ends, edges = [1 + n for n in range(w.size)], [(n + 1) % w.size for n in range(w.size)]
            return freed(w.Create_graph(ends, edges), lambda one: look(one, k))

        return call

    def periodic(comm: Any) -> list[bool]:
        return list(map(bool, comm.periods))

    def near(w: MPI.Intracomm) -> tuple[int, int]:
        return (w.rank + 1) % w.size, (w.rank - 1) % w.size

    return {
        "dims": lambda w, _, k: freed(w.Create_cart([k(2), k(w.size // 2)]), MPI.Cartcomm.Get_topo),
        "one dim": lambda w, _, k: freed(w.Create_cart(k(2)), lambda c: c.Get_topo()),
        "periods": lambda w, _, k: freed(w.Create_cart([w.size], [k(1)]), lambda c: c.periods),
        "one period": lambda w, _, k: freed(w.Create_cart([w.size], k(1)), periodic),
        "reorder": lambda w, _, k: freed(w.Create_cart([w.size], None, k(0)), lambda c: c.dims),
        "Cart_map": lambda w, _, k: w.Cart_map([k(2)]) in (*range(4), MPI.UNDEFINED),
        "Get_cart_rank": on_cart(lambda c, k: c.Get_cart_rank([k(1), k(0)])),
        "few coords": on_cart(lambda c, k: c.Get_cart_rank([k(1)])),
        "Get_coords": on_cart(lambda c, k: c.Get_coords(k(1))),
        "Shift direction": on_cart(lambda c, k: c.Shift(k(1), 1)),
        "Shift disp": on_cart(lambda c, k: c.Shift(0, k(1))),
        "Sub": on_cart(lambda c, k: freed(c.Sub([k(1), k(0)]))),
        "index": lambda w, _, k: freed(
            w.Create_graph([k(n + 1) for n in range(w.size)], [0] * w.size), lambda c: c.index
        ),
        "edges": lambda w, _, k: freed(
            w.Create_graph([n + 1 for n in range(w.size)], [k(0)] * w.size), lambda c: c.edges
        ),
        "Get_neighbors": on_graph(lambda c, k: c.Get_neighbors(k(1))),
        "Get_neighbors_count": on_graph(lambda c, k: c.Get_neighbors_count(k(1))),
        "adjacent": lambda w, _, k: freed(
            w.Create_dist_graph_adjacent([k(2)], [k(3)]), lambda c: c.inoutedges
        ),
        "weights": lambda w, _, k: freed(
            w.Create_dist_graph_adjacent([near(w)[0]], [near(w)[1]], [k(2)], [k(3)]),
            lambda c: c.inoutedges,
        ),
        "dist_graph": lambda w, _, k: freed(
            w.Create_dist_graph([k(2)], [k(1)], [k(3)], [k(5)]), lambda c: c.outedges
        ),
    }


def groups() -> dict[str, Case]:
    """Return the cases of groups."""

    def members(group: MPI.Group) -> Any:
        return group.size, group.rank

    return {
        "Incl": lambda w, _, k: members(w.group.Incl([k(1), k(0)])),
        "Incl of one": lambda w, _, k: members(w.group.Incl(k(1))),
        "Excl": lambda w, _, k: members(w.group.Excl([k(1)])),
        "Range_incl": lambda w, _, k: members(w.group.Range_incl([(k(0), k(1), k(1))])),
        "Range_excl": lambda w, _, k: members(w.group.Range_excl([(k(0), k(1), k(1))])),
        "Translate_ranks": lambda w, _, k: w.group.Translate_ranks([k(1)], w.group),
    }


OBJECTS: dict[str, Make] = {
    "None": lambda _: None,
    "str": str,
    "int": int,
    "Op": lambda _: MPI.SUM,
    "Info": lambda _: MPI.INFO_NULL,
    "Status": lambda _: MPI.Status(),
    "Comm": lambda _: MPI.COMM_SELF,
    "function": lambda _: max,
}


def statuses() -> dict[str, Case]:
    """Return the cases of messages that are written down."""

    def exchange(w: MPI.Intracomm, p: int, k: Make) -> Any:
        room = np.zeros(4, "i")
        w.Sendrecv(data(w), p, 3, room, p, 3, k(0))
        return room.tolist()

    def replaced(w: MPI.Intracomm, p: int, k: Make) -> Any:
        mine = data(w)
        w.Sendrecv_replace(mine, p, 3, p, 3, k(0))
        return mine.tolist()

    return {
        "Recv status": lambda w, p, k: taken(w, p, lambda room: w.Recv(room, p, 7, k(0))),
        "recv status": lambda w, p, k: object_taken(w, p, lambda: w.recv(None, p, 7, k(0))),
        "Probe status": lambda w, p, k: taken(w, p, lambda _: w.Probe(p, 7, k(0))),
        "Mprobe status": lambda w, p, k: taken(w, p, lambda _: w.Mprobe(p, 7, k(0))),
        "mprobe status": lambda w, p, k: object_taken(w, p, lambda: w.mprobe(p, 7, k(0))),
        "Iprobe status": lambda w, p, k: w.Iprobe(p, 11, k(0)),
        "improbe status": lambda w, p, k: w.improbe(p, 11, k(0)),
        "Sendrecv status": exchange,
        "Sendrecv_replace status": replaced,
        "sendrecv status": lambda w, p, k: w.sendrecv(w.rank, p, 3, None, p, 3, k(0)),
    }


def other_objects() -> dict[str, Case]:
    """Return the cases of operations, hints, groups and communicators."""

    def reduced(name: str) -> Case:
        def call(w: MPI.Intracomm, _: int, k: Make) -> Any:
            into = np.zeros(1, "i")
            getattr(w, name)(np.array([w.rank + 1], "i"), into, op=k(0))
            return into.tolist() if w.rank == 0 else None

        return call

    return {f"{name} op": reduced(name) for name in ("Reduce", "Allreduce", "Scan", "Exscan")} | {
        "Dup info": lambda w, _, k: freed(w.Dup(k(0))),
        "Dup_with_info": lambda w, _, k: freed(w.Dup_with_info(k(0))),
        "Split_type info": lambda w, _, k: freed(w.Split_type(MPI.UNDEFINED, 0, k(0))),
        "Create": lambda w, _, k: freed(w.Create(k(0))),
        "Create_group": lambda w, _, k: freed(w.Create_group(k(0))),
        "Compare": lambda w, _, k: w.Compare(k(0)) in {MPI.CONGRUENT, MPI.UNEQUAL},
        "peer_comm": lambda w, _, k: (
            None if k is OBJECTS["Comm"] else freed(w.Create_intercomm(0, k(0), 0))
        ),
        "dist_graph info": lambda w, _, k: freed(
            w.Create_dist_graph([w.rank], [1], [0], None, k(0)), lambda c: c.outedges
        ),
        "adjacent info": lambda w, _, k: freed(
            w.Create_dist_graph_adjacent([0], [0], None, None, k(0)), lambda c: c.inedges
        ),
    }


def outcome(case: Case, comm: MPI.Intracomm, peer: int, kind: Make) -> str:
    """Return what a call has given, or which error it has raised."""
    try:
        return str(case(comm, peer, kind))
    except MPI.Exception as error:
        return MPI.Get_error_string(error.error_class).split(",")[0]
    except Exception as error:
        return type(error).__name__


def main() -> None:
    """Run all cases, and say what became of them."""
    comm = MPI.COMM_WORLD
    near, far = comm.rank ^ 1, (comm.rank + comm.size // 2) % comm.size
    in_memory = calls_with_counts() | collectives_with_counts()
    pairs = calls_with_ranks() | exchanges() | calls_with_counts()
    alike = collectives() | collectives_with_counts() | communicators() | topologies() | groups()
    tables = (
        *((pairs, near, KINDS), (pairs, far, KINDS), (alike, 0, KINDS)),
        *((statuses(), near, OBJECTS), (statuses(), far, OBJECTS), (other_objects(), 0, OBJECTS)),
    )
    cases = [(*one, peer, kinds) for table, peer, kinds in tables for one in table.items()]
    for name, case, peer, kinds in cases:
        for kind, make in kinds.items():
            if kind.startswith("large") and name in in_memory:
                continue  # mpi4py does not look whether the memory is that large
            print(comm.rank, name, peer, kind, outcome(case, comm, peer, make), sep="|", flush=True)


if __name__ == "__main__":
    main()
