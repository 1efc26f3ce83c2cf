"""The steps of a deployment as values: what is done where, after what, with which files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from graphlib import TopologicalSorter

from gcm.records import dataclass
from runtime.native_mpi import Job
from runtime.step_name import StepKind, StepName

EVERYTHING = "."
"""The source of results that means everything new or changed."""

REST = ""
"""The source of results that means everything new or changed that no move before it brings."""


@dataclass(frozen=True, slots=True)
class FileMove:
    """What to copy, from `source` to `destination`.

    Before the start that is a file or folder; afterwards all that the pattern `source` means comes
    to its own path below the folder `destination`, and with `every` repeatedly, after that many
    seconds; if it `replaces`, also in place of what the user has there.
    """

    source: str
    destination: str
    every: float = 0.0
    replaces: bool = False

    def as_dict(self) -> dict[str, object]:
        """Return it as plain values."""
        every = {"every": self.every} if self.every else {}
        replaces = {"replaces": True} if self.replaces else {}
        return {"from": self.source, "to": self.destination, **every, **replaces}


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    `place` is where it happens: `here` for the launcher's machine, else a path of the machine.
    `by` is the front-end step whose process runs `argv`, None for the launcher.
    `depends_on` names the steps that have to be up before. Steps of one `depth` start in
    parallel. `environment` is handed over beside `argv`, never in it, since it may hold secrets.
    A step without a command of its own can happen `within` the process of another one. Ranks have a
    `job`, whose first part `argv` starts.
    """

    name: StepName
    place: str
    argv: tuple[str, ...] = ()
    depends_on: tuple[StepName, ...] = ()
    by: StepName | None = None
    files: tuple[FileMove, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    ready_line: str = ""
    ready_when_finished: bool = False
    within: StepName | None = None
    job: Job | None = None
    depth: int = 0

    @property
    def kind(self) -> StepKind:
        """What it does."""
        return self.name.kind

    @property
    def about(self) -> str:
        """What it is done for: a cluster, a site, a node, a helper process."""
        return self.name.about

    @property
    def for_each_host(self) -> bool:
        """Whether such a command is run for each of several hosts, with the ranks of that host."""
        return self.job is not None and self.job.for_each_host

    def as_dict(self) -> dict[str, object]:
        """Return the step as plain values; of the environment only the names."""
        return {
            "name": str(self.name),
            "kind": str(self.kind),
            "place": self.place,
            "by": str(self.by or ""),
            "within": str(self.within or ""),
            "for_each_host": self.for_each_host,
            "depth": self.depth,
            "depends_on": list(map(str, self.depends_on)),
            "argv": list(self.argv),
            "environment": sorted(self.environment),
            "folder": self.folder,
            "files": [move.as_dict() for move in self.files],
        }


def in_order(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps with their depths, sorted by them; equal depths keep their order.

    The depth of a step without dependencies is 0, else one more than the deepest of them.
    """
    by_name = {step.name: step for step in steps}
    depths: dict[StepName, int] = {}
    for name in TopologicalSorter({s.name: s.depends_on for s in by_name.values()}).static_order():
        depths[name] = 1 + max((depths[before] for before in by_name[name].depends_on), default=-1)
    deepened = (replace(step, depth=depths[step.name]) for step in by_name.values())
    return tuple(sorted(deepened, key=lambda step: step.depth))
