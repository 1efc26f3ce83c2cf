"""The table of MPI's calls: a row for each that takes a communicator or what is made of one.

Whoever needs to know calls by name asks here: the methods of our communicators and requests, what
counts, traces and checks calls, the look at waits, the refusals, the pages of what works, and the
random programs. A call that has no row exists for none of them; tests compare the rows with mpi4py's
classes and with the header of the standard.

A row is a line of text, so that a person can read the table:

    Bcast   MPI_Bcast   collective   bip   plan:plans.bcast   buf:inout* root=0   | alike

It has the name in mpi4py, the function of the standard, the kind, how it is called (`b` blocking,
`i` begun, which returns a request, `p` persistent, `t` a look that returns at once, `l` local), how
it is done where members are in several clusters (`ours`, the `plan` that a function makes, `native`,
or `refused:why`), and its arguments. So this row stands for `Bcast`, `Ibcast` and `Bcast_init`. An argument has a role
where its name does not say it, a star if all members give as many bytes, and a default as mpi4py
has it. Flags follow behind a bar:

* `alike`: has no data for each rank, so that it does not matter which ranks exist
* `gathers`, `spreads`: returns, or takes, a list with an object for each rank
* `joins`: all members contribute to its size; `parts`: in place its buffer has the parts of all
* `meets`: no member can leave it before all have entered it
* `vector`, `exclusive`: told to its planner, which plans the call without it, too
* `standard`: MPI may buffer what it sends; `synchronous`, `buffered`, `ready`: the other modes
* `takes`: it takes the message that it finds
* `as:Name`: another name of that call

It imports no MPI, because ranks without MPI report what they are doing, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from gcm.records import dataclass
from runtime.calls import communicators, requests

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from typing import Any

BLOCKING, BEGUN, PERSISTENT, LOOK, LOCAL = "blocking", "begun", "persistent", "look", "local"
_HOW = {"b": BLOCKING, "i": BEGUN, "p": PERSISTENT, "t": LOOK, "l": LOCAL}

OURS, PLAN, NATIVE, REFUSED = "ours", "plan", "native", "refused"

CURES = {
    "handle": (
        "Give it MPI.COMM_CLUSTER, or another communicator of one cluster, and combine the results"
    ),
    "processes": "Let the descriptor start all processes",
}
"""What to do instead of a call that is refused, by the word in its row."""

_ROLES = {
    "comm": "comm",
    "dest": "peer",
    "obj": "object",
    "op": "reduction",
    "peer_comm": "comm",
    "recvbuf": "out",
    "recvtag": "tag",
    "requests": "requests",
    "root": "root",
    "sendbuf": "in",
    "sendobj": "object",
    "sendtag": "tag",
    "source": "source",
    "status": "status",
    "statuses": "statuses",
    "tag": "tag",
}
"""The roles of arguments whose names say them; others are plain values."""


@dataclass(slots=True)
class Argument:
    """An argument of a call, as mpi4py names it. The default is text, such as `ANY_SOURCE`."""

    name: str
    role: str = ""
    default: str | None = None
    is_equal: bool = False
    """Whether all members of the communicator give or take as many bytes."""


@dataclass(slots=True)
class MpiCall:
    """A call of MPI as mpi4py has it: upper case for buffers, lower case for pickled objects."""

    name: str
    of: str
    """The class of mpi4py whose method it is; `-` for functions that no method stands for."""
    standard: str
    """The function of the standard that carries it out; `-` where it is mpi4py's own."""
    kind: str
    how: str
    grid: str
    """How it is done where members are in several clusters."""
    operation: str
    """The blocking call that does the same: `Bcast` of `Ibcast` and `Bcast_init`."""
    arguments: tuple[Argument, ...] = ()
    flags: tuple[str, ...] = ()
    plan: str = ""
    """The function in `runtime.mpi.collectives` that plans it: `plans.bcast`."""
    cure: str = ""
    """What to do instead, where it is refused."""

    @property
    def takes_objects(self) -> bool:
        """Whether it sends or receives pickled objects."""
        return self.name[0].islower()

    @property
    def equal(self) -> str:
        """The argument with the data where all members give as many bytes; empty elsewhere."""
        return next((one.name for one in self.arguments if one.is_equal), "")

    @property
    def works_over_gaps(self) -> bool:
        """Whether members can call it where ranks of the communicator are empty.

        Then it has no data for each rank (`alike`), or lists by rank: it `gathers` or `spreads` one.
        """
        return any(self.has(flag) for flag in ("alike", "gathers", "spreads"))

    @property
    def is_of_class(self) -> bool:
        """Whether it is called on the class, with several requests."""
        return any(one.role == "requests" for one in self.arguments)

    def place(self, role: str) -> int | None:
        """Return where the first argument with a role stands; None if there is none."""
        places = (at for at, one in enumerate(self.arguments) if one.role == role)
        return next(places, None)

    def has(self, flag: str) -> bool:
        """Return whether its row has a flag."""
        return flag in self.flags

    def takes(self, role: str) -> bool:
        """Return whether it has an argument with a role."""
        return self.place(role) is not None

    def named(self, args: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of one call that were given, by name."""
        names = (one.name for one in self.arguments)
        return {**dict(zip(names, args, strict=False)), **options}


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the rows of a text, each behind the class that it belongs to."""
    of = ""
    for line in text.splitlines():
        if line.startswith("["):
            of = line[1:-1]
        elif line:
            yield of, line


def _calls(of: str, line: str) -> Iterator[MpiCall]:
    """Yield the calls that a row stands for."""
    row, _, told = line.partition("|")
    name, standard, kind, letters, done, *taken = row.split()
    flags = tuple(told.split())
    grid, _, how = done.partition(":")
    same_as = next((one for one in flags if one.startswith("as:")), f"as:{name}")
    operation = same_as.removeprefix("as:").removesuffix("_init")
    arguments = tuple(map(_argument, taken))
    for letter in letters:
        yield MpiCall(
            _variant(name, letter, letters),
            of,
            _variant(standard, letter, letters),
            kind,
            _HOW[letter],
            grid,
            operation,
            arguments if letter == letters[0] else _taken(arguments, letter, kind),
            flags,
            how if grid == PLAN else "",
            CURES[how] if grid == REFUSED else "",
        )


def _variant(name: str, letter: str, letters: str) -> str:
    """Return the name of the begun or persistent form of a call or a function.

    >>> [_variant(one, "i", "bi") for one in ("Bcast", "send", "MPI_Bcast", "MPI_File_read_at")]
    ['Ibcast', 'isend', 'MPI_Ibcast', 'MPI_File_iread_at']
    >>> _variant("Bcast", "p", "bip"), _variant("Bcast", "b", "bip")
    ('Bcast_init', 'Bcast')
    """
    if letter == letters[0]:
        return name
    if letter == "p":
        return f"{name}_init"
    for prefix in ("MPI_File_", "MPI_Comm_", "MPIX_Comm_"):
        if name.startswith(prefix):
            return f"{prefix}i{name.removeprefix(prefix)}"
    prefix = "MPI_" if name.startswith("MPI_") else ""
    rest = name.removeprefix(prefix)
    return f"{prefix}I{rest.lower()}" if rest[0].isupper() else f"i{rest}"


@cache
def _argument(text: str) -> Argument:
    told, has_default, default = text.partition("=")
    plain = told.removesuffix("*")
    name, _, role = plain.partition(":")
    return Argument(
        name,
        role or _ROLES.get(name, ""),
        default if has_default else None,
        told != plain,
    )


_INFO = Argument("info", "", "INFO_NULL", False)


def _taken(arguments: tuple[Argument, ...], letter: str, kind: str) -> tuple[Argument, ...]:
    """Return the arguments of another form: no status, which a request has, but MPI's hints."""
    left = tuple(one for one in arguments if one.role != "status")
    return (*left, _INFO) if letter == "p" and kind == "collective" else left


@cache
def _early() -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the rows of communicators and requests by kind; few ranks need more than some."""
    found: dict[str, list[tuple[str, str]]] = {}
    for text in (communicators.ROWS, requests.ROWS):
        for of, line in _lines(text):
            found.setdefault(line.split(None, 3)[2], []).append((of, line))
    return found


@cache
def _early_calls(kind: str) -> tuple[MpiCall, ...]:
    return tuple(call for row in _early()[kind] for call in _calls(*row))


@cache
def every_call() -> tuple[MpiCall, ...]:
    """Return all calls, those of communicators first."""
    from runtime.calls import files, groups, sessions, windows

    everything = (communicators, requests, groups, windows, files, sessions)
    return tuple(call for one in everything for row in _lines(one.ROWS) for call in _calls(*row))


OF_COMMUNICATORS = (
    *("Comm", "Intracomm", "Topocomm", "Cartcomm", "Graphcomm", "Distgraphcomm", "Intercomm"),
)
OF_REQUESTS = ("Request", "Prequest")
WITH_REQUESTS = (*OF_COMMUNICATORS, *OF_REQUESTS)


def of_kind(
    *kinds: str, of: Iterable[str] = OF_COMMUNICATORS, how: Iterable[str] = ()
) -> dict[str, MpiCall]:
    """Return the calls of some kinds by name, those of communicators unless it says otherwise.

    It knows those of requests and messages too, and what makes windows and files.

    >>> [*of_kind("exchange", how=("blocking",))]
    ['Sendrecv', 'Sendrecv_replace', 'sendrecv']
    """
    return {
        one.name: one
        for kind in kinds
        for one in _early_calls(kind)
        if one.of in of and (not how or one.how in how)
    }


SYNCHRONOUS = {
    one.name: other.name
    for one in of_kind("send").values()
    for other in of_kind("send", how=(one.how,)).values()
    if one.has("standard") and other.operation.lower() == f"s{one.operation.lower()}"
    and other.takes_objects == one.takes_objects
}  # fmt: skip
"""The sends that MPI may buffer, and those that return once their message is received."""

COLLECTIVES = {
    name: one
    for name, one in of_kind("collective", how=(BLOCKING,)).items()
    if name == one.operation
}
"""The blocking collectives by name; all ranks of a run share their order, from which the numbers in
the tags of messages come."""
