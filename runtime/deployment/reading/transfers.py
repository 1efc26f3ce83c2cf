"""Reads which files go to the clusters, and which results come home."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from gcm.documents import CheckedElement, Location
from runtime.deployment.context import Reading
from runtime.deployment.language.converters import clusters
from runtime.deployment.model import Deployment, Direction, FileTransfer
from runtime.deployment.patterns import picking
from runtime.deployment.planning.closing import closing_steps
from runtime.deployment.planning.steps import EVERYTHING, REST
from runtime.rank_name import ClusterName
from runtime.web_address import WebAddress, is_web_address

_WORK = "the work folder"
_HOME = "the program folder"
_GLOB = re.compile(r"[*?\[]")
# Patterns of everything, which do not include ignored files such as `__pycache__`.
_EVERYTHING_TOO = frozenset(("**", "**/*", "**/**"))


def read_transfers(root: CheckedElement, reading: Reading) -> tuple[FileTransfer, ...]:
    """Return the file transfers; both sides stay within their folders."""
    programs = (_web_program(entry, reading) for entry in root.each("application"))
    written = (_transfer(entry, reading) for entry in root.each("file-transfer"))
    found = (*(one for one in programs if one is not None), *written)
    if root.only("peers") is None and not root.incomplete:
        for one in found:
            if is_web_address(one.source):
                reading.fault(
                    "web-without-peers",
                    f"{one.source} would be fetched by peers, and the machine has none",
                    one.location,
                    hint="fetch it before, and name the file; or let <peers> be the machine",
                )
    return found


def _web_program(entry: CheckedElement, reading: Reading) -> FileTransfer | None:
    """Return how a program comes to peers that is on a web server."""
    script = entry["script"]
    address = web_address(script, entry.location, reading) if is_web_address(script) else None
    if address is None:
        return None
    where = clusters(entry["clusters"], entry, reading)
    return FileTransfer(Direction.IN, str(address), address.name, where, entry.location)


def web_address(written: str, location: Location, reading: Reading) -> WebAddress | None:
    """Return the address of a file of a web server, and report what is none."""
    try:
        return WebAddress.parse(written)
    except ValueError as fault:
        reading.fault("bad-web-address", str(fault), location)
        return None


def _transfer(entry: CheckedElement, reading: Reading) -> FileTransfer:
    written: FileTransfer = entry.record(reading)
    if written.direction is Direction.IN:
        return _there(entry, written, reading)
    source, location = written.source, written.location
    inside = _stay_inside(source, "source", _WORK, location, reading)
    if inside and source != EVERYTHING and picking(source) is None:
        reading.fault(
            "bad-pattern",
            f'source="{source}" of <file-transfer> is not a pattern',
            location,
            hint="close each '[' with a ']'; '*', '?' and '**' stand for any text",
        )
    _check_destination(written.destination, location, reading)
    source = posixpath.normpath(source)
    return replace(written, source=EVERYTHING if source in _EVERYTHING_TOO else source)


def _there(entry: CheckedElement, written: FileTransfer, reading: Reading) -> FileTransfer:
    """Return a transfer to the clusters, with full paths."""
    source, destination, location = written.source, written.destination, written.location
    if written.every:
        reading.fault(
            "every-in",
            'every is for results: direction="in" brings files once, before the start',
            location,
        )
    for name in ("others", "replace"):
        if entry.has(name):
            reading.fault(
                f"{name}-in",
                f'{name} is for results: direction="in" brings what its source names',
                location,
            )
    if is_web_address(source):
        address = web_address(source, location, reading)
        destination = destination or (address.name if address else "file")
    else:
        destination = destination or posixpath.basename(posixpath.normpath(source))
    _stay_inside(destination, "destination", _WORK, location, reading)
    if not is_web_address(source):
        source = reading.existing(source, "the source of the transfer", location)
    return FileTransfer(Direction.IN, source, destination, written.clusters, location)


def _check_destination(written: str, location: Location, reading: Reading) -> None:
    """Report a folder for results that is outside of the program folder, or no path."""
    plain = written.replace("{site}", "site").replace("{cluster}", "cluster")
    _stay_inside(plain, "destination", _HOME, location, reading)
    if "{" in plain or "}" in plain:
        reading.fault(
            "bad-destination",
            f'destination="{written}" of <file-transfer> has a word in braces that means nothing',
            location,
            hint="{site} and {cluster} stand for where the results come from",
        )


def _stay_inside(path: str, what: str, where: str, location: Location, reading: Reading) -> bool:
    outside = path.startswith(("/", "~")) or posixpath.normpath(path).split("/")[0] == ".."
    if outside:
        reading.fault(
            "transfer-escapes",
            f'{what}="{path}" of <file-transfer> leads out of {where}',
            location,
            hint="use a relative path that stays inside",
        )
    return not outside


def check_results(deployment: Deployment, reading: Reading) -> None:
    """Report results that could not be put where they are meant to go."""
    outgoing = [one for one in deployment.transfers if one.direction is Direction.OUT]
    located = {(one.source, one.every): one.location for one in reversed(outgoing)}
    reported = set[str]()
    for step in closing_steps(deployment):
        first: dict[str, str] = {}
        for move in step.files:
            location = located.get((move.source, move.every))
            if location is None:  # nothing was written of it: everything comes home
                location = deployment.cluster(ClusterName.parse(step.about).position).location
            why = reading.context.cannot_hold(move.destination)
            if why and why not in reported:
                reported.add(why)
                reading.fault("no-place-for-results", f"results cannot come home: {why}", location)
            if move.source in (EVERYTHING, REST) or _GLOB.search(move.source):
                continue
            target = posixpath.join(move.destination, move.source)
            if first.setdefault(target, move.source) != move.source and target not in reported:
                reported.add(target)
                reading.fault(
                    "results-collide",
                    f"'{move.source}' and '{first[target]}' would both be copied to {target}",
                    location,
                    hint="give one of them another destination",
                )
