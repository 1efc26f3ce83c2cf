"""`python -m runtime.cli.moved VERB FOLDER`: what is done where a launcher was moved to.

`begin` reads the run on standard input, tries all clusters, and lets it begin in the folder; else
it ends with a line for each cluster that cannot be reached from here. `follow` writes the facts of
the run until it has ended, `results` an archive of the files that were not there when it began, and
`forget` removes the folder. The package that runs this was brought along, into the same folder.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from runtime.cli.detached import DetachedRun, begin_detached, detached_runs
from runtime.cli.line.options import Options
from runtime.deployment import DeployedCluster, Deployment, make_plan
from runtime.deployment.planning.program_files import ProgramFiles
from runtime.exit_codes import NEVER_STARTED
from runtime.launchers.archive import pack
from runtime.launchers.errors import LaunchError
from runtime.launchers.local import LocalLauncher
from runtime.processes.launcher.reaching import usual_launcher
from runtime.processes.launcher.task_group import TaskGroup
from runtime.results.known_results import RECORD

LONGEST_LINE = 1 << 24

_STAGED = "staged.json"


def main(verb: str, folder: Path) -> int:
    """Do what a word says; return the exit code."""
    if verb == "begin":
        return _begin(folder, *pickle.load(sys.stdin.buffer))
    threading.Thread(target=_leave_with_the_reader, daemon=True).start()
    match verb:
        case "follow":
            with DetachedRun.of(folder).following() as file:
                while line := file.readline(LONGEST_LINE):
                    sys.stdout.buffer.write(line)
                    sys.stdout.buffer.flush()
        case "results":
            known = json.loads((folder / _STAGED).read_text(encoding="utf-8"))
            files = _files(folder)
            new = {name: str(path) for name, path in files if known.get(name) != _time_of(path)}
            pack(new, sys.stdout.buffer)
        case "forget":
            DetachedRun(folder.name, 0, 0.0, "", folder).remove()
    return 0


def _begin(
    folder: Path, deployment: Deployment, options: Options, programs: Mapping[str, ProgramFiles]
) -> int:
    for _ in detached_runs():  # what nobody has attached to for long is removed
        pass
    if faults := unreachable(deployment):
        for path, why in faults.items():
            print(f"{path} cannot be reached from here: {why}", file=sys.stderr)
        return NEVER_STARTED
    from runtime.cli.command import run_here

    plan = make_plan(deployment, programs)
    times = {name: _time_of(path) for name, path in _files(folder)}
    (folder / _STAGED).write_text(json.dumps(times), encoding="utf-8")
    os.chdir(deployment.folder)
    _, fault = begin_detached(folder, lambda one: run_here(plan, one), options)
    if fault:
        print(fault, file=sys.stderr)
    return NEVER_STARTED if fault else 0


def unreachable(deployment: Deployment) -> dict[str, str]:
    """Return why clusters cannot be reached from this machine, by their paths."""
    faults: dict[str, str] = {}

    def attempt(cluster: DeployedCluster, local: LocalLauncher) -> None:
        try:
            with usual_launcher(cluster, local) as there:
                there.ready()
        except LaunchError as fault:
            faults[cluster.path] = str(fault)

    with LocalLauncher() as local:
        tasks = TaskGroup()
        for cluster in deployment.clusters():
            if cluster.hops:
                tasks.do(f"trying {cluster.path}", partial(attempt, cluster, local))
        tasks.join()
    return faults


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files in the program folders of a run; names in the first one are without it."""
    for program in sorted(folder.glob("program*")):
        for path in sorted(program.rglob("*")):
            is_own = "__pycache__" in path.parts or path.name == RECORD
            if path.is_file() and not path.is_symlink() and not is_own:
                yield str(path.relative_to(folder)).removeprefix("program/"), path


def _time_of(path: Path) -> int:
    return path.stat().st_mtime_ns


def _leave_with_the_reader() -> None:
    """End this process when the one that reads from it has gone."""
    while os.read(0, 1):  # a file object would hold a lock that the end of the process needs
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
