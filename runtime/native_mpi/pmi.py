r"""The server's half of PMI-1, by which ranks of an MPICH find each other: bytes in, answers out.

A rank has one socket to whoever started it, named by `PMI_FD`. It writes lines of `name=value`, and
reads one line for each that asks for something. In `MPI_Init` every rank `put`s what others need to
reach it into a key-value space (KVS) of the job, waits in a barrier for all, and `get`s what it
needs. After `finalize` it says nothing more.

    rank: cmd=init pmi_version=1 pmi_subversion=1
          cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
    rank: cmd=put kvsname=job key=P0-businesscard value=...
          cmd=put_result rc=0
    rank: cmd=barrier_in
          cmd=barrier_out rc=0                                   once all ranks are in it

What a rank writes is not trusted: a line, the whole space, and what a job publishes are bounded,
and a rank that says what no client says raises PmiFault, after which nobody should listen to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import groupby

from gcm.records import dataclass

LONGEST_NAME, LONGEST_KEY, LONGEST_VALUE = 256, 64, 1024
"""What ranks are told they may use."""

LONGEST_LINE = 4096
SPACE, SPACE_OF_A_RANK = 1 << 20, 1 << 14
"""Bytes that a job may put: so many, and so many more for each rank."""

MOST_NAMES = 256
"""Names that a job may publish at once."""

FIXED = {
    "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
    "get_maxes": f"cmd=maxes kvsname_max={LONGEST_NAME} keylen_max={LONGEST_KEY}"
    f" vallen_max={LONGEST_VALUE} rc=0",
    "get_appnum": "cmd=appnum appnum=0 rc=0",
    "finalize": "cmd=finalize_ack rc=0",
}
"""What is answered to any rank of any job."""


class PmiFault(ValueError):
    """A rank has said what no client of PMI says."""


class PmiStage(Enum):
    """How far a rank is with its MPI, by its own word."""

    SILENT = "it has not initialised MPI, and perhaps never will"
    INITIALISED = "the others may wait for it"
    FINALISED = "nobody waits for it any more"


@dataclass(frozen=True, slots=True)
class PmiAnswer:
    """Bytes for the socket of one rank."""

    rank: int
    data: bytes


@dataclass(frozen=True, slots=True)
class PmiAbort:
    """A rank wants all of its job to end, with this exit code."""

    rank: int
    code: int


class PmiServer:
    r"""Serves the ranks of one host in a job of `size` ranks, which are all unless `ranks` says so.

    `name` is that of the key-value space. MPICH calls shared memory after it, so no two jobs of a
    host may have the same. Where other hosts have ranks, their servers exchange what was put in
    each barrier: see `fresh` and `release`. Not fit for threads.

    >>> server = PmiServer("job", 1)
    >>> server.received(0, b"cmd=init pmi_version=1 pmi_subversion=1\ncmd=barrier")[0].data
    b'cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n'
    >>> server.received(0, b"_in\n")
    [PmiAnswer(rank=0, data=b'cmd=barrier_out rc=0\n')]
    """

    def __init__(
        self, name: str, size: int, *, ranks: Iterable[int] = (), hosts: Sequence[int] = ()
    ) -> None:
        """Make it; `hosts` has the numbers of ranks on each host, in the order of the ranks."""
        mine = [*ranks] or [*range(size)]
        self._name, self._size = name, size
        self._is_alone = len(mine) == size
        self._stages = dict.fromkeys(mine, PmiStage.SILENT)
        self._rest: dict[int, bytes] = dict.fromkeys(mine, b"")
        self._requests: dict[int, list[str]] = {}  # of several lines, that have begun
        self._space = {"PMI_process_mapping": process_mapping(hosts or [size])}
        self._room = SPACE + SPACE_OF_A_RANK * size
        self._fresh: dict[str, str] = {}
        self._published: dict[str, str] = {}
        self._waiting: dict[int, None] = {}
        self.abort: PmiAbort | None = None
        """Who has asked first that all ranks end."""
        self._commands: dict[str, Callable[[int, Mapping[str, str]], str]] = {
            "get_my_kvsname": lambda *_: f"cmd=my_kvsname kvsname={name} rc=0",
            "get_universe_size": lambda *_: f"cmd=universe_size size={size} rc=0",
            "put": self._put,
            "get": self._get,
            "barrier_in": self._barrier_in,
            "publish_name": self._publish,
            "unpublish_name": self._unpublish,
            "lookup_name": self._look_up,
            "abort": self._abort,
        }

    # --- what ranks say ---------------------------------------------------------------------------

    def received(self, rank: int, data: bytes) -> list[PmiAnswer]:
        """Take bytes of a rank; return what is to be written to it and, behind a barrier, to all.

        Raises PmiFault.
        """
        answers: list[PmiAnswer] = []
        *lines, rest = (self._rest[rank] + data).split(b"\n")
        for line in lines:
            if len(line) > LONGEST_LINE:
                raise PmiFault(f"a line of {len(line):,} bytes")
            if answer := self._line(rank, line):
                answers.append(PmiAnswer(rank, answer.encode() + b"\n"))
            if self._is_alone and self.fresh is not None:
                answers += self.release({})
        if len(rest) > LONGEST_LINE:
            raise PmiFault("a line without an end")
        self._rest[rank] = rest
        return answers

    def is_missed(self, rank: int) -> bool:
        """Tell whether others may wait for a rank, so that its end leaves them waiting."""
        return self._stages[rank] is PmiStage.INITIALISED

    # --- what servers of one job exchange ---------------------------------------------------------

    @property
    def fresh(self) -> Mapping[str, str] | None:
        """What was put since the last barrier, once all ranks here are in the next one."""
        return self._fresh if len(self._waiting) == len(self._stages) else None

    def release(self, others: Mapping[str, str]) -> list[PmiAnswer]:
        """End a barrier in which all are, after which everybody has what `others` have put."""
        self._space |= others
        self._fresh = {}
        waiting, self._waiting = self._waiting, {}
        return [PmiAnswer(rank, b"cmd=barrier_out rc=0\n") for rank in waiting]

    # --- commands ---------------------------------------------------------------------------------

    def _line(self, rank: int, line: bytes) -> str:
        """Return the answer to a line, without its end; nothing if there is none yet, or ever."""
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise PmiFault(f"what is no text: {line[:40]!r}") from None
        if rank in self._requests or text.startswith("mcmd="):
            return self._line_of_several(rank, text)
        words = _words(text)
        command = words.get("cmd", "")
        self._stages[rank] = _NEXT.get(command, self._stages[rank])
        if (known := FIXED.get(command)) is not None:
            return known
        if command not in self._commands:
            raise PmiFault(f"the command {text[:80]!r}")
        return self._commands[command](rank, words)

    def _line_of_several(self, rank: int, text: str) -> str:
        """Take a request to start more processes, which has several lines, and refuse it."""
        lines = self._requests.setdefault(rank, [])
        lines.append(text)
        if sum(map(len, lines)) > SPACE_OF_A_RANK:
            raise PmiFault(f"a request without an end: {lines[0][:80]!r}")
        if text != "endcmd":
            return ""
        asked = dict(one.partition("=")[::2] for one in self._requests.pop(rank))
        is_last = asked.get("totspawns") == asked.get("spawnssofar")
        return "cmd=spawn_result rc=-1 msg=the_descriptor_starts_all_processes" if is_last else ""

    def _put(self, _: int, words: Mapping[str, str]) -> str:
        key, value = words.get("key", ""), words.get("value", "")
        if not key or len(key) > LONGEST_KEY or len(value) > LONGEST_VALUE:
            return "cmd=put_result rc=-1 msg=too_long"
        before = self._space.get(key)
        room = self._room - len(value) + (-len(key) if before is None else len(before))
        if room < 0:
            return "cmd=put_result rc=-1 msg=no_room"
        self._room = room
        self._space[key] = self._fresh[key] = value
        return "cmd=put_result rc=0 msg=success"

    def _get(self, _: int, words: Mapping[str, str]) -> str:
        value = self._space.get(words.get("key", ""))
        if value is None:
            return "cmd=get_result rc=-1 msg=key_not_found value=unknown"
        return f"cmd=get_result rc=0 msg=success value={value}"

    def _barrier_in(self, rank: int, _: Mapping[str, str]) -> str:
        self._waiting[rank] = None
        return ""

    def _publish(self, _: int, words: Mapping[str, str]) -> str:
        name = words.get("service", "")
        if name in self._published or len(self._published) >= MOST_NAMES:
            return "cmd=publish_result rc=-1 msg=not_published"
        self._published[name] = words.get("port", "")
        return "cmd=publish_result rc=0 msg=success"

    def _unpublish(self, _: int, words: Mapping[str, str]) -> str:
        found = self._published.pop(words.get("service", ""), None)
        return f"cmd=unpublish_result {_result(found is not None)}"

    def _look_up(self, _: int, words: Mapping[str, str]) -> str:
        port = self._published.get(words.get("service", ""))
        return f"cmd=lookup_result {_result(port is not None)}" + (f" port={port}" if port else "")

    def _abort(self, rank: int, words: Mapping[str, str]) -> str:
        code = words.get("exitcode", "")
        self.abort = self.abort or PmiAbort(rank, int(code) if code.lstrip("-").isdecimal() else 1)
        return ""


class PmiExchange:
    """Brings what was put on each host of a job to all of them, barrier by barrier.

    >>> exchange = PmiExchange(2)
    >>> exchange.put(1, {"b": "2"}), exchange.put(0, {"a": "1"})
    (None, {'b': '2', 'a': '1'})
    """

    def __init__(self, hosts: int) -> None:
        self._hosts = hosts
        self._came: dict[int, Mapping[str, str]] = {}

    def put(self, host: int, fresh: Mapping[str, str]) -> Mapping[str, str] | None:
        """Take what is fresh on a host in whose barrier all are; return all, once it is there."""
        self._came[host] = fresh
        if len(self._came) < self._hosts:
            return None
        came, self._came = self._came, {}
        return {key: value for one in came.values() for key, value in one.items()}


_NEXT = {"init": PmiStage.INITIALISED, "finalize": PmiStage.FINALISED}


def process_mapping(hosts: Sequence[int]) -> str:
    """Return in MPICH's words which ranks share a host: blocks of first host, hosts, ranks of each.

    >>> process_mapping([4]), process_mapping([2, 2, 1])
    ('(vector,(0,1,4))', '(vector,(0,2,2),(2,1,1))')
    """
    blocks = [(count, len([*same])) for count, same in groupby(hosts)]
    first, words = 0, []
    for count, number in blocks:
        words.append(f"({first},{number},{count})")
        first += number
    return f"(vector,{','.join(words)})"


def _words(text: str) -> dict[str, str]:
    """Return names and values of a line; a value that was put is all that follows its name."""
    head, put, value = text.partition(" value=")
    found = dict(word.partition("=")[::2] for word in head.split())
    return {**found, "value": value} if put else found


def _result(is_good: bool) -> str:
    return "rc=0 msg=success" if is_good else "rc=-1 msg=not_found"
