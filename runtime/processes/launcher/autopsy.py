"""Why a front-end went without being asked: its own last words, or a Python that cannot run it."""

from __future__ import annotations

from runtime.errors import GridError
from runtime.launchers.base import Command, Process
from runtime.launchers.errors import LaunchError, PythonTooOld
from runtime.launchers.lines import Collected
from runtime.processes.configuration import REFUSED
from runtime.processes.launcher.place import ClusterPlace

OLDEST = (3, 11)
PROBE_TIMEOUT = 5.0
# Fit for every Python there ever was.
_ASK = "import sys; sys.stdout.write('%d.%d.%d' % sys.version_info[:3])"


def fault_of(place: ClusterPlace, words: str) -> GridError:
    """Return why the front-end of a place has gone, if `words` are all it said; this may wait."""
    process = place.process
    if process is not None and process.exit is not None and process.exit.code == REFUSED:
        return GridError("\n".join(process.tail), place=place.cluster.path)
    if job := place.state_of_job():
        return fault_of_job(place, words, job)
    found = _too_old(place) if place.cluster.is_local and not place.is_up else None
    return found or GridError(
        "the front-end has ended",
        place=place.cluster.path,
        cause=words,
        cure="Everything else was ended; its last lines are below",
    )


def fault_of_job(place: ClusterPlace, words: str, job: str) -> GridError:
    """Return the same for a place of whose job the batch system tells `job`."""
    return GridError(
        f"the front-end has ended; {job}",
        place=place.cluster.path,
        cause=words,
        cure="A job ends at its walltime, when somebody cancels it, or when a node fails",
    )


def has_ended_in_order(place: ClusterPlace) -> bool:
    """Tell whether the process of a front-end ended by itself with exit code 0; this may wait."""
    try:
        return place.process is None or place.process.wait(PROBE_TIMEOUT).ok
    except LaunchError:
        return True  # nothing speaks against it


def end_of_parent(place: ClusterPlace) -> str:
    """Return the message if what has forked a front-end was ended by a signal; this may wait.

    The guard tells of that once all is ended that was below it, so the front-ends may go before.
    """
    process = place.process
    if not place.has_lost_parent or process is None:
        return ""
    try:
        ended = process.wait(PROBE_TIMEOUT)
    except LaunchError:
        return ""
    if ended.signal is None:
        return ""
    what = f"the process of the front-ends of this machine (process {process.pid}) was {ended}"
    return str(GridError(what, cure="Everything on this machine was ended with it"))


def _too_old(place: ClusterPlace) -> PythonTooOld | None:
    """Ask the Python of a place for its version; over ssh that was done before.

    What an old Python said of our command line or of our files tells no more than that.
    """
    python, printed = place.cluster.front_end.python, Collected()
    try:
        process: Process = place.launcher.start(Command((python, "-c", _ASK)), printed)
        process.close_input()
        ended = process.wait(PROBE_TIMEOUT)
    except LaunchError:
        return None
    version = printed.output.strip()
    if not ended.ok or tuple(int(part) for part in version.split(".")) >= OLDEST:
        return None
    return PythonTooOld(
        f"{python} is Python {version}, which is too old",
        place=place.cluster.path,
        cure="Name a Python from 3.11 on: --python PATH, in a descriptor <front-end python='...'/>",
    )
