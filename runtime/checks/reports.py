"""What a rank reports of its checked calls, as values; `report_from` reads the plain data.

A rank numbers its communicators and its calls, and describes each once. A call that is made again
on the same line with the same arguments is the same, so that a loop costs four bytes a turn.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from gcm.records import dataclass

NUMBERS = "I"
"""How numbers of calls are packed."""

OBJECT = "object"
"""The type of a message that holds a pickled object; "" stands for one that fits all others."""

NO_ROOT = -1

ANY_SOURCE = -2
"""What stands in the place of a root in a receive from any source."""

SENDS_AWAITED, OTHERS_AWAITED = -3, -4
"""What stands there where the program waits for sends that it has begun: for nothing but sends, or
for messages, too.
"""


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call as one rank makes it, on one line of the program.

    `name` is how mpi4py names it; a collective is of an `operation`, such as `Bcast` for `Ibcast`
    and `Bcast_init`. `kind` is the type of its elements, `size` the bytes that this rank gives or
    has room for; None where they need not be alike. The `reduction` is "" where it is unknown.
    """

    name: str
    where: str
    operation: str = ""
    root: int = NO_ROOT
    kind: str = ""
    size: int | None = None
    reduction: str = ""

    @property
    def blocks(self) -> str:
        """How it waits: `blocking`, `nonblocking` or `persistent`."""
        if self.name.endswith("_init"):
            return "persistent"
        is_begun = self.name.lower() == f"i{self.operation.lower()}"
        return "nonblocking" if is_begun else "blocking"

    @property
    def place(self) -> str:
        """What is called on which line, whatever the arguments: `Bcast (ring.py:7)`."""
        return f"{self.name} ({self.where})"

    def __str__(self) -> str:
        """Describe it: `Bcast of root 1, 4 x float64 (ring.py:7)`."""
        if self.root == ANY_SOURCE:
            said = f"{self.name} from any source"
        else:
            said = self.name if self.root < 0 else f"{self.name} of root {self.root}"
        if self.reduction:
            said = f"{said} by {self.reduction}"
        if self.kind == OBJECT and not self.operation:
            said = f"{said}, an object"
        elif self.size is not None:
            said = f"{said}, {self._amount(self.size)}"
        return f"{said} ({self.where})"

    def _amount(self, size: int) -> str:
        bits = "".join(filter(str.isdecimal, self.kind))
        item = int(bits or 8) // 8
        if not bits or size % item:
            return f"{size} bytes" + (f" of {self.kind}" if self.kind else "")
        return f"{size // item} x {self.kind}"


@dataclass(frozen=True, slots=True)
class CheckedCommunicator:
    """A communicator: the `key` is the same at all `members`, which are names of ranks.

    `peers` are those that ranks in calls refer to; `origin` is the key of the one it was made of.
    """

    key: str
    name: str
    origin: str
    members: tuple[str, ...]
    peers: tuple[str, ...]

    def __str__(self) -> str:
        return self.name.removeprefix("MPI_") or "a communicator"


@dataclass(frozen=True, slots=True)
class FaultFound:
    """A fault of a program, told once: its kind, a sentence, and the ranks with their calls.

    Calls are told with their lines, as far as they are known.
    """

    kind: str
    ranks: tuple[str, ...]
    calls: tuple[str, ...]
    text: str


Messages = tuple[int, int, int, list[tuple[int, int]]]
"""Communicator, peer, tag, and calls in order: each with how often it came in a row."""

Choice = tuple[int, int, list[tuple[int, int, int]]]
"""Communicator, call, and the messages of which a receive has taken the first one: each with its
sender, its tag, and how many of its sender with that tag had been received before.
"""


@dataclass(frozen=True, slots=True)
class CallReport:
    """What a rank has to say since its last report.

    `calls` and `communicators` are those that are new, by number; `collectives` are the calls on a
    communicator in their order, `choices` are of receives from any source. `faults` are those that
    the rank has found itself: kind, text and call. `code` is its exit code, once it has ended.
    """

    communicators: dict[int, CheckedCommunicator]
    calls: dict[int, CheckedCall]
    collectives: list[tuple[int, list[int]]]
    sends: list[Messages]
    receives: list[Messages]
    choices: list[Choice]
    faults: list[tuple[str, str, str]]
    code: int | None = None

    @property
    def count(self) -> int:
        """How many calls it tells of."""
        messages = (runs for *_, runs in (*self.sends, *self.receives))
        return sum(len(calls) for _, calls in self.collectives) + sum(
            count for runs in messages for _, count in runs
        )


def report_from(plain: dict[str, Any]) -> CallReport:
    """Return the report that a rank has sent; raises KeyError, TypeError, ValueError.

    >>> report_from({"calls": {1: ["Barrier", "a.py:1", "Barrier", -1, "", None, ""]}}).calls[1]
    CheckedCall(name='Barrier', where='a.py:1', operation='Barrier', root=-1, kind='', \
size=None, reduction='')
    """
    code = plain.get("code")
    return CallReport(
        {
            int(number): CheckedCommunicator(
                str(key), str(name), str(origin), tuple(map(str, members)), tuple(map(str, peers))
            )
            for number, (key, name, origin, members, peers) in plain.get(
                "communicators", {}
            ).items()
        },
        {int(number): _call(parts) for number, parts in plain.get("calls", {}).items()},
        [(int(comm), list(_numbers(packed))) for comm, packed in plain.get("collectives", ())],
        list(_messages(plain.get("sends", ()))),
        list(_messages(plain.get("receives", ()))),
        [
            (int(comm), int(call), [(int(peer), int(tag), int(at)) for peer, tag, at in messages])
            for comm, call, messages in plain.get("choices", ())
        ],
        [(str(kind), str(text), str(call)) for kind, text, call in plain.get("faults", ())],
        None if code is None else int(code),
    )


def _call(parts: list[Any]) -> CheckedCall:
    name, where, operation, root, kind, size, reduction = parts
    texts = str(name), str(where), str(operation)
    nbytes = None if size is None else int(size)
    return CheckedCall(*texts, int(root), str(kind), nbytes, str(reduction))


def _numbers(packed: bytes) -> array[int]:
    numbers = array(NUMBERS)
    numbers.frombytes(packed)
    return numbers


def _messages(rows: Iterable[Any]) -> Iterable[Messages]:
    for comm, peer, tag, calls in rows:
        runs = [(int(call), int(count)) for call, count in calls]
        yield int(comm), int(peer), int(tag), runs
