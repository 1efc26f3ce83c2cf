"""What a front-end is told when it starts, over its standard input and nowhere else."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

_LENGTH = 4


@dataclass(frozen=True, slots=True)
class Job:
    """The native MPI job of a cluster: what every rank runs, and how they are started."""

    argv: tuple[str, ...]
    ranks: int
    mpiexec: str
    flavour: str
    hosts: tuple[tuple[str, int], ...]
    options: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A front-end's part of the plan.

    `room` is the private folder of the run, `folder` where ranks start, `launcher` the address of
    the launcher, empty for the one behind standard input and output. With `at_once` nothing else
    has to be up before the ranks, so they start without being asked for.
    """

    cluster: str
    path: str
    levels: tuple[str, ...]
    room: str
    folder: str
    port: int | None
    job: Job | None
    at_once: bool
    launcher: str
    secret: bytes = field(repr=False)


def as_first_input(configurations: Sequence[Configuration]) -> bytes:
    """Return the bytes that are read first: a length, and a configuration for each front-end."""
    data = pickle.dumps(tuple(configurations), protocol=5)
    return len(data).to_bytes(_LENGTH, "big") + data


def read_first_input(read: Callable[[int], bytes]) -> tuple[Configuration, ...]:
    """Read the configurations from the launcher; raises EOFError when it ended before."""
    data = _exactly(read, int.from_bytes(_exactly(read, _LENGTH), "big"))
    found = pickle.loads(data)
    assert isinstance(found, tuple)
    return found


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = read(size - len(data))
        if not more:
            raise EOFError("the launcher ended before it said what to do")
        data += more
    return data
