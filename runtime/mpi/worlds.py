"""The communicators that every process has from the start, and the one engine behind them."""

from __future__ import annotations

from mpi4py import MPI

from runtime.membership.rank_link import current
from runtime.mpi.comm import Comm, near, wrap
from runtime.mpi.engine import Engine
from runtime.mpi.handlers import handle_errors_as_asked
from runtime.mpi.membership import derived_context, intra
from runtime.mpi.place import Place, here, place_of_plain_mpi, place_of_rank, settle
from runtime.topology import Communicator, rank_table

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence

    from runtime.membership.rank_link import RankLink


class Worlds:
    """What `start` makes: the place of this process, its engine and its communicators."""

    def __init__(self, place: Place, engine: Engine | None, *, world_is_grid: bool) -> None:
        self.place = place
        self.engine = engine
        self.comms: dict[str, MPI.Comm] = {
            "COMM_SELF": near(MPI.COMM_SELF),
            "COMM_CLUSTER": near(MPI.COMM_WORLD),
        }
        for name in Communicator:
            if name not in self.comms:
                self.comms[name] = self._made(name)
        self.comms["COMM_WORLD"] = self.comms["COMM_GRID" if world_is_grid else "COMM_CLUSTER"]
        if world_is_grid:
            self.comms["COMM_CLUSTER"].Set_name("COMM_CLUSTER")
            self.comms["COMM_WORLD"].Set_name("MPI_COMM_WORLD")

    def _made(self, name: Communicator) -> MPI.Comm:
        members = tuple(
            self.place.index_of(one) for one in rank_table(self.place.grid, name, self.place.me)
        )
        if self.place.index not in members:
            return MPI.COMM_NULL
        comm = self._communicator(name, members)
        comm.Set_name(name)
        return comm

    def _communicator(self, name: Communicator, members: Sequence[int]) -> Comm:
        close = [one for one in members if self.place.first <= one < self.place.last]
        parent = MPI.COMM_SELF if len(close) == 1 else MPI.COMM_WORLD
        if len(close) == len(members) or self.engine is None:
            return near(parent.Dup())
        context = derived_context(b"", name, tuple(members))
        return wrap(intra(self.engine, members, parent.Dup(), parent.Dup(), context))


_worlds: Worlds | None = None


def start(*, world_is_grid: bool = False) -> Worlds:
    """Return the communicators; the first call makes them, together with all of the cluster."""
    global _worlds  # noqa: PLW0603 - a process is in one machine
    if _worlds is None:
        link = current()
        place = place_of_plain_mpi() if link is None else place_of_rank(link)
        settle(place)
        engine = None if link is None or place.is_one_cluster else _engine(place, link)
        _worlds = Worlds(place, engine, world_is_grid=world_is_grid)
    return _worlds


def handle_errors() -> None:
    """Let errors be handled as the program asks; under plain MPI mpi4py has seen to that."""
    if current() is not None:
        handle_errors_as_asked(comm for comm in start().comms.values() if comm)


def _engine(place: Place, link: RankLink) -> Engine:
    from runtime.wire import open_post  # only where there are other clusters

    engine = Engine(place.index, place.first, place.last, place.name_of)
    post = open_post(link, engine)
    engine.attach(post, post.bells)
    return engine


def place() -> Place:
    """Return where this process is."""
    start()
    return here()


def passed(peer: int) -> tuple[str, ...] | None:
    """Return the front-ends between this process and another one, as far as it has chosen them."""
    engine = start().engine
    if engine is None or engine.post is None:
        return None
    from runtime.wire.opening import passed

    return passed(engine.post, peer)


def predefined(name: str) -> MPI.Comm:
    """Return a communicator that was there from the start by its name."""
    return start().comms[name]


def name_of(comm: MPI.Comm) -> str | None:
    """Return the name of one of the communicators that were there from the start."""
    return next((name for name, one in start().comms.items() if one == comm), None)


def finish() -> None:
    """Send what is still to be sent and hang up; nobody is waited for."""
    if _worlds is not None and _worlds.engine is not None:
        _worlds.engine.close()


def running_engine() -> Engine | None:
    """Return what carries messages to other clusters, None where nothing does."""
    return None if _worlds is None else _worlds.engine


def abort(code: int, error: BaseException | None = None) -> None:
    """Tell the front-end that this process ends the run, because of an error if it names one."""
    link = current()
    if link is not None:
        from runtime.membership.last_words import last_words_of_abort

        facts = last_words_of_abort(error)
        link.wrapper.health.aborted(link.name, code & 0xFF or 1, *facts)
