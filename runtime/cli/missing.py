"""Hints for a program that misses a module or a file: it is here only, or a package hides it."""

from __future__ import annotations

import os
import posixpath
import re
import sys
from collections.abc import Callable, Iterator, Mapping

from runtime.deployment import DeployedCluster, DeploymentPlan
from runtime.deployment.checker import is_installed
from runtime.deployment.planning.program_files import IGNORE_FILE, ProgramFiles
from runtime.deployment.planning.workplace import workplace_of
from runtime.rank_name import RankName

_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_FILE = re.compile(r"FileNotFoundError: \[Errno 2\] No such file or directory: '([^']+)'")
_HIDDEN = re.compile(
    r"(?:cannot import name '\w+' from|No module named|module) '(gcm|runtime)\b[\w.]*'"
)


def hints(
    plan: DeploymentPlan,
    exceptions: Mapping[str, str],
    *,
    exists: Callable[[str], bool] = os.path.exists,
    has_module: Callable[[str], bool] = is_installed,
) -> list[str]:
    """Return hints about the modules and files that ranks did not find.

    `exceptions` are those that ranks ended with, by the identifiers of the ranks.
    """
    clusters = {cluster.identifier: cluster for cluster in plan.deployment.clusters()}
    found: dict[str, None] = {}
    for rank, error in exceptions.items():
        module, file, hidden = (sign.search(error) for sign in (_MODULE, _FILE, _HIDDEN))
        cluster = clusters[RankName.parse(rank).cluster]
        if hidden:
            found |= dict.fromkeys(_of_hidden(plan, cluster, hidden[1], exists))
        elif module:
            found |= dict.fromkeys(_of_module(plan, cluster, module[1], has_module))
        elif file and not file[1].startswith("/"):
            found |= dict.fromkeys(_of_file(plan, cluster, posixpath.normpath(file[1]), exists))
    return list(found)


def _of_module(
    plan: DeploymentPlan, cluster: DeployedCluster, name: str, has_module: Callable[[str], bool]
) -> Iterator[str]:
    base = name.replace(".", "/")
    known = list(_left_out(plan, cluster, f"{base}.py", f"{base}/"))
    yield from known
    has_same_python = cluster.is_local and cluster.front_end.python == sys.executable
    if not known and not has_same_python and has_module(name):
        yield (
            f"{name.partition('.')[0]!r} is installed here, but the Python of {cluster.path} does "
            "not find it: install it there, or name another Python: --python PATH, in a descriptor"
            " <front-end python=...>"
        )


def _of_hidden(
    plan: DeploymentPlan, cluster: DeployedCluster, name: str, exists: Callable[[str], bool]
) -> Iterator[str]:
    """Yield which file of the program a package of this project hides."""
    folder = workplace_of(plan.deployment, cluster).folder
    for path in (f"{name}.py", f"{name}/__init__.py"):
        if exists(posixpath.join(folder, path)):
            yield (
                f"{path!r} of {folder} is not what 'import {name}' finds in a rank, but the package"
                f" {name!r} of gcm-deploy: give it another name"
            )


def _of_file(
    plan: DeploymentPlan, cluster: DeployedCluster, path: str, exists: Callable[[str], bool]
) -> Iterator[str]:
    yield from _left_out(plan, cluster, path)
    folder = workplace_of(plan.deployment, cluster).folder
    if exists(path) and not exists(posixpath.join(folder, path)):
        yield (
            f"{path!r} is in the folder where gcm-deploy was called, but relative paths begin at "
            f"the program folder, {folder}; name another one in folder=..."
        )


def _left_out(plan: DeploymentPlan, cluster: DeployedCluster, *paths: str) -> Iterator[str]:
    """Yield what was not copied of the program folder with one of these paths, and why."""
    at = workplace_of(plan.deployment, cluster)
    known = plan.programs if at.is_staged else {}
    files = known.get(cluster.application, ProgramFiles())
    wanted = {part for path in paths for part in _parts(path)}
    for path in files.ignored:
        if path in wanted:
            yield (
                f"{path!r} of {at.folder} is not copied to {cluster.path}: {IGNORE_FILE} or what is"
                " built in leaves it out"
            )
    for skipped in files.skipped:
        if skipped.partition(" ")[0] in wanted:
            yield f"{at.folder}: {skipped}, and so is not on {cluster.path}"


def _parts(path: str) -> Iterator[str]:
    """Yield a path and its parent folders.

    >>> list(_parts("a/b/c.py"))
    ['a/b/c.py', 'a/', 'a/b/']
    """
    yield path
    names = path.rstrip("/").split("/")
    yield from ("/".join(names[:end]) + "/" for end in range(1, len(names)))
