"""Error handlers: which one a new communicator has, and which one hears of several requests."""

from __future__ import annotations

import pytest

from tests.grids import Grid, SharedGrid, on

pytestmark = pytest.mark.mpi


CHILDREN = """
    import mpi4py
    mpi4py.rc.errors = "{errors}"
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    me, size = world.rank, world.size
    mine = MPI.Comm.Create_errhandler(lambda comm, error: None)
    known = {{
        "mine": mine,
        "return": MPI.ERRORS_RETURN,
        "fatal": MPI.ERRORS_ARE_FATAL,
        "abort": MPI.ERRORS_ABORT,
    }}
    def of(comm):
        found = comm.Get_errhandler()
        return next(name for name, one in known.items() if one == found)
    parent = world.Dup()
    parent.Set_errhandler(mine)
    later, begun = parent.Idup()
    begun.Wait()
    cluster = parent.Split(me == size - 1)
    inter = cluster.Create_intercomm(0, world, 0 if me == size - 1 else size - 1)
    children = [
        parent.Dup(), later, parent.Split(0), cluster, cluster.Dup(),
        cluster.Split(0), parent.Split_type(MPI.COMM_TYPE_SHARED),
        parent.Create(parent.Get_group()), parent.Create_group(parent.Get_group()),
        cluster.Create_group(cluster.Get_group()), parent.Create_cart([size]),
        parent.Create_cart([size]).Sub([True]), cluster.Create_cart([cluster.size]),
        parent.Create_graph(range(1, size + 1), range(size)),
        parent.Create_dist_graph([me], [1], [me]),
        inter, inter.Dup(), inter.Split(0), inter.Merge(me == size - 1),
    ]
    print({{of(one) for one in children}})
    given = MPI.Intracomm.Create_from_group(world.Get_group(), errhandler=mine)
    alone = MPI.Intracomm.Create_from_group(world.Get_group(), "alone")
    print(of(given), *map(of, (alone, world, MPI.COMM_SELF, MPI.COMM_SELF.Dup())))
"""


@pytest.mark.parametrize(
    ("errors", "children", "orphans"),
    [
        ("exception", "return", "return"),
        ("default", "mine", "fatal"),
        ("fatal", "fatal", "fatal"),
        ("abort", "abort", "abort"),
    ],
)
def test_communicators_have_the_error_handler_that_mpi4py_gives_them(
    grid: Grid, errors: str, children: str, orphans: str
) -> None:
    said = grid("2+1", CHILDREN.format(errors=errors))
    assert said == {rank: [f"{{'{children}'}}", f"mine{f' {orphans}' * 4}"] for rank in range(3)}


SEVERAL = """
    import itertools
    from mpi4py import MPI
    world = MPI.COMM_WORLD
    me, other = world.rank, 1 - world.rank
    comm = world.Dup()
    heard, tags = [], itertools.count(0, 2)
    classes = {getattr(MPI, name): name[4:] for name in ("ERR_IN_STATUS", "ERR_TRUNCATE")}
    def name(code):
        return classes[MPI.Get_error_class(code)]
    def handler(who):
        return MPI.Comm.Create_errhandler(lambda _, code: heard.append(f"{who} {name(code)}"))
    handlers = {one: handler(one) for one in ("comm", "world", "self")}
    comms = {"comm": comm, "world": world, "self": MPI.COMM_SELF}

    def begun():
        '''Begin what fails and what does not: with the other cluster, and with myself.'''
        tag = next(tags)
        sends = [comm.Isend(b"long", to, one) for to in (other, me) for one in (tag, tag + 1)]
        rooms = [bytearray(1), bytearray(4)] * 2
        places = [(other, tag), (other, tag + 1), (me, tag), (me, tag + 1)]
        return sends, [comm.Irecv(room, *place) for room, place in zip(rooms, places)], rooms

    def tried(call):
        try:
            return str(call())
        except MPI.Exception as error:
            return f"raises {name(error.error_class)}"

    def show(call, *, one=None):
        sends, receives, _ = begun()
        world.Barrier()
        chosen = receives if one is None else receives[one : one + 1]
        statuses = [MPI.Status() for _ in chosen]
        for kind in ("comm", "world", "self"):
            comms[kind].Set_errhandler(handlers[kind] if kind in told else MPI.ERRORS_RETURN)
        print(tried(lambda: call(chosen, statuses)), heard)
        for comm in comms.values():
            comm.Set_errhandler(MPI.ERRORS_RETURN)
        heard.clear()
        MPI.Request.Waitall(sends)
        for left in receives:
            tried(left.Wait)
        return [(status.source, status.error) for status in statuses]
"""


@on("1+1")
def test_the_handler_of_comm_self_hears_of_several_requests(shared: SharedGrid) -> None:
    said = shared(
        SEVERAL
        + """
    several = MPI.Request
    told = "comm world"
    show(several.Waitall)
    told = "comm world self"
    show(several.Waitall)
    show(several.waitall)
    show(lambda ours, _: several.Waitany(ours), one=0)
    show(lambda ours, _: several.Waitany(ours), one=2)
    show(lambda ours, _: ours[0].Wait(), one=0)
    """,
    )
    lines = [
        "raises IN_STATUS []",
        "True ['self IN_STATUS']",
        "[None, None, None, None] ['self IN_STATUS']",
        *["0 ['self TRUNCATE']"] * 2,
        "True ['comm TRUNCATE']",
    ]
    assert said == {0: lines, 1: lines}


@on("1+1")
def test_a_failure_here_does_not_keep_what_failed_from_afar_from_being_told(
    shared: SharedGrid,
) -> None:
    said = shared(
        SEVERAL
        + """
    told = ""
    for call in (MPI.Request.Waitall, MPI.Request.Waitsome):
        found = show(call)
        here = [error for source, error in found if source == me]
        far = [error for source, error in found if source == other]
        print(far == [MPI.ERR_TRUNCATE, MPI.SUCCESS], bool(here and here[0]))
    """,
    )
    lines = ["raises IN_STATUS []", "True True"]
    assert said == {0: lines * 2, 1: lines * 2}
