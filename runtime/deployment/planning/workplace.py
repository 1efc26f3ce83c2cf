"""Where the ranks of a cluster work: in the program folder itself, or in a copy of it."""

from __future__ import annotations

import posixpath

from gcm.records import dataclass
from runtime.deployment.model import (
    Application,
    DeployedCluster,
    Deployment,
    Direction,
    ProgramKind,
)
from runtime.deployment.planning.steps import FileMove

ALL = "."
"""The destination of a program folder: the whole work folder."""

_OWN_PLACE = ("{site}", "{cluster}")


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where ranks start: in `folder`, a path of their cluster, or in a copy in a work folder there.

    With `is_staged` the copy begins with all of the program folder; `moves` come on top of that.
    """

    folder: str
    is_copy: bool
    is_staged: bool
    moves: tuple[FileMove, ...]

    @property
    def files(self) -> tuple[FileMove, ...]:
        """Return all that is copied into the work folder, the program folder first."""
        program = (FileMove(self.folder, ALL),) if self.is_staged else ()
        return (*program, *self.moves)

    def program_of(self, code: Application, cluster: DeployedCluster) -> str:
        """Return what ranks are told to run, relative to where they start if it is there."""
        path = code.path
        if code.kind is ProgramKind.EXECUTABLE:
            for written, name in zip(_OWN_PLACE, cluster.path.split("/"), strict=True):
                path = path.replace(written, name)
        if not code.is_inside or (self.is_copy and not self.is_staged):
            return path
        inside = posixpath.relpath(path, code.folder)
        return f"./{inside}" if code.kind is ProgramKind.EXECUTABLE else inside


def workplace_of(deployment: Deployment, cluster: DeployedCluster) -> Workplace:
    """Return where the ranks of a cluster work. Where `gcm-deploy` was called never matters."""
    code = deployment.application_of(cluster)
    mine = [one for one in deployment.transfers if cluster.position in one.clusters]
    moves = tuple(
        FileMove(one.source, one.destination) for one in mine if one.direction is Direction.IN
    )
    is_apart = any(
        part in one.destination
        for one in mine
        if one.direction is Direction.OUT
        for part in _OWN_PLACE
    )
    if code is not None and not code.staged:
        return Workplace(code.folder, bool(moves), False, moves)
    is_replicated = code is not None and code.replicas > 1  # they write the same files
    is_copy = bool(
        not cluster.is_local or cluster.front_end.folder or moves or is_apart or is_replicated
    )
    folder = deployment.folder if code is None else code.folder
    return Workplace(folder, is_copy, is_copy and code is not None, moves)
