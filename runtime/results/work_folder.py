"""Creates and fills the work folder of a cluster, where its ranks work in a copy."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.deployment.model import DeployedCluster
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.program_files import ProgramFiles, what_to_do
from runtime.deployment.planning.workplace import Workplace
from runtime.launchers.base import Launcher
from runtime.launchers.errors import StagingFailed
from runtime.web_address import WebAddress, is_web_address

if TYPE_CHECKING:
    from runtime.launchers.base import Source


def make_work_folder(
    launcher: Launcher, parent: str, plan: DeploymentPlan, cluster: DeployedCluster, at: Workplace
) -> str:
    """Make a folder for the ranks of a cluster, stage files to it, and return its full path.

    `parent` is the folder it is made in, empty for that of temporary files. Raises StagingFailed.
    """
    wanted = staged_files(plan, cluster, at)
    work = launcher.make_folder(parent)
    for sources in wanted:
        launcher.stage(sources, work)
    from runtime.results.program_survey import built_in_rules  # only where something is copied

    launcher.seal(work, built_in_rules())
    return work


def staged_files(
    plan: DeploymentPlan, cluster: DeployedCluster, at: Workplace
) -> list[Mapping[str, Source]]:
    """Yield what is staged to a cluster; raises StagingFailed."""
    files = program_of(plan, cluster) if at.is_staged else ProgramFiles()
    local, *web = _moved(at)
    return [one for one in (sources_of(files, at.folder), local, *web) if one]


def program_of(plan: DeploymentPlan, cluster: DeployedCluster) -> ProgramFiles:
    """Return what is copied of a cluster's program folder.

    It may have been surveyed already by the caller that made the plan and accepted its size.

    Raises:
        StagingFailed: it was not, and is larger than the descriptor allows.
    """
    if cluster.application in plan.programs:
        return plan.programs[cluster.application]
    from runtime.results.program_survey import survey  # needed only where something is copied

    code = plan.deployment.application_of(cluster)
    assert code is not None
    files = survey(code, plan.deployment)
    if files.exceeds(code.stage_limit):
        raise StagingFailed(
            f"the program folder of application '{code.name}' is too large to be copied: {files}",
            place=str(code.location),
            cure=what_to_do(code, files),
        )
    return files


def sources_of(files: ProgramFiles, folder: str) -> dict[str, Source]:
    """Return what is staged of a program folder of this machine, by the names that it gets."""
    from runtime.launchers.archive import Folder, LinkTarget

    root = os.path.expanduser(folder)
    return {
        **{path: Folder(os.path.join(root, path)) for path in files.folders},
        **{path: Path(root, path) for path, _ in files.files},
        **{
            path: LinkTarget(posixpath.relpath(target, posixpath.dirname(path) or "."))
            for path, target in files.links
        },
    }


def _moved(at: Workplace) -> list[dict[str, Source]]:
    """Return the files of this machine, and each one of a web server by itself."""
    local: dict[str, Source] = {}
    web: list[dict[str, Source]] = []
    for move in at.moves:
        if is_web_address(move.source):
            web.append({move.destination: WebAddress.parse(move.source)})
        else:
            local |= _named(os.path.expanduser(move.source), move.destination)
    return [local, *web]


def _named(source: str, destination: str) -> dict[str, Source]:
    """Return a file that the descriptor names, or what is in a folder, without its secrets."""
    from runtime.launchers.archive import Folder
    from runtime.results.secrets import is_credential, secret_in, spread

    if not os.path.isdir(source):
        if is_credential(source):
            raise StagingFailed(
                f"{source} is the credential of a lab, which never leaves this machine",
                cure="Leave it out of the transfer",
            )
        return {destination: Path(source)}
    try:
        parts = list(spread(source, destination))
    except OSError as fault:
        raise StagingFailed(f"{source} cannot be copied: {fault}") from fault
    beside = len(destination) + 1
    return {
        name: Folder(path) if os.path.isdir(path) else Path(path)
        for name, path in parts
        if os.path.isdir(path) or not secret_in(path, name[beside:])
    }
