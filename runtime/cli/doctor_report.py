"""Reports an examination: a table of hosts and a list of findings, or plain values."""

from __future__ import annotations

import sys
from dataclasses import asdict

from gcm.cli.output import Paint, columns_of, counted
from gcm.documents import Severity
from runtime.doctor.examination import Examination
from runtime.doctor.jobs import JobTrial
from runtime.doctor.records import Finding, Record
from runtime.native_mpi import version_in
from runtime.shown_text import shown_lines, shown_table

_GIB = 1 << 30
_COLUMNS = ("host", "its name", "Python", "numpy", "mpi4py", "MPI of mpi4py", "files", "free")
_NOT_USABLE = ("NotPrepared", "PythonMissing", "PythonTooOld")
"""The faults of hosts that were reached."""
_NUMBERS = {_COLUMNS.index("files"), _COLUMNS.index("free")}


def as_dict(examined: Examination) -> dict[str, object]:
    """Return the whole report as plain values."""
    return {
        "errors": len(examined.errors),
        "warnings": len(examined.findings) - len(examined.errors),
        "lab": examined.lab,
        "findings": [one.as_dict() for one in examined.findings],
        "hosts": [_host(record) for record in examined.records],
        "connections": [
            {
                "from": "{}:{}".format(*dial.source),
                "to": "{}:{}".format(*dial.target),
                "front_end": dial.to_front_end,
                "address": dial.address,
                "outcome": dial.outcome,
            }
            for dial in examined.dials
        ],
        "jobs": [asdict(one) for one in examined.jobs],
    }


def _host(record: Record) -> dict[str, object]:
    facts = record.facts
    if facts is None:
        return {"where": record.host.where, "reached": False}
    return {
        "where": record.host.where,
        "reached": True,
        "host": facts.host,
        "user": facts.user,
        "python": facts.python,
        "version": ".".join(map(str, facts.version)),
        "packages": dict(facts.packages),
        "mpi": facts.library,
        "mpiexec": facts.mpiexec,
        "mpiexec_why": facts.mpiexec_why,
        "mpiexec_version": version_in(facts.mpiexec_version),
        "files": facts.files,
        "free": {room.folder: room.free for room in facts.folders},
        "interfaces": dict(facts.interfaces),
    }


def print_report(examined: Examination) -> None:
    """Print the hosts as a table, then the findings."""
    rows, width = map(_row, examined.records), columns_of(sys.stdout)
    print(shown_table(_COLUMNS, rows, numbers=_NUMBERS, width=width), end="")
    if starters := [one for record in examined.records if (one := _starter(record, width))]:
        print("", *map(shown_lines, starters), sep="\n")
    for trial in examined.jobs:
        print(f"\n{shown_lines(_job(trial))}")
    paint = Paint.on(sys.stdout)
    for finding in examined.findings:
        print(f"\n{_line(finding, paint)}")
    print(f"\n{_headline(examined)}")


def _row(record: Record) -> tuple[str, ...]:
    facts = record.facts
    if facts is None:
        is_reached = type(record.fault).__name__ in _NOT_USABLE
        word = "not usable" if is_reached else "not reached"
        return (record.host.where, word, *[""] * (len(_COLUMNS) - 2))
    versions = (facts.packages.get(name) or "-" for name in ("numpy", "mpi4py"))
    free = f"{facts.folders[0].free / _GIB:,.1f} GiB" if facts.folders else ""
    return (
        record.host.where,
        facts.host,
        ".".join(map(str, facts.version)),
        *versions,
        facts.library.partition(", package")[0] or "-",
        str(facts.files) if facts.files >= 0 else "unlimited",
        free,
    )


def _starter(record: Record, width: int) -> str:
    """Return which `mpiexec` the ranks of a host have, and why; "" where they have none.

    Where that is wider than a terminal of `width` columns, each part has a line; 0 is any width.
    """
    facts = record.facts
    if facts is None or not record.host.needs_mpi or not facts.mpiexec:
        return ""
    version = version_in(facts.mpiexec_version) or "of an unknown MPI"
    head = f"mpiexec of {record.host.where}"
    parts = (facts.mpiexec, version, *facts.mpiexec_why.split(", "))
    line = f"{head}: {', '.join(parts)}"
    return "\n    ".join((head, *parts)) if 0 < width < len(line) else line


def _job(trial: JobTrial) -> str:
    facts = trial.facts
    lines = [f"{trial.cluster}, in job {trial.job} on {', '.join(trial.nodes)}:"]
    width = max(len(command) for command, _ in trial.starters)
    lines += [f"{command:{width}}  {outcome}" for command, outcome in trial.starters]
    if trial.uses:
        lines.append(f"a run starts its ranks with {trial.uses}")
    lines.append("interfaces: " + ", ".join(" ".join(one) for one in facts.interfaces))
    if trial.outgoing:
        ways = (f"{host}:22 {outcome}" for host, outcome in trial.outgoing)
        lines.append(f"outwards: {', '.join(ways)}")
    if facts.missing:
        lines.append(f"cannot be imported there: {', '.join(facts.missing)}")
    return "\n    ".join(lines)


def _line(finding: Finding, paint: Paint) -> str:
    label = f"{finding.severity}[{finding.code}]"
    colour = "red" if finding.severity is Severity.ERROR else "yellow"
    place = f"{paint(str(finding.location), 'bold')}: " if finding.location else ""
    return (
        f"{place}{paint(label, 'bold', colour)} {shown_lines(f'{finding.where}: {finding.what}')}\n"
        f"    why:  {shown_lines(finding.why)}\n"
        f"    fix:  {shown_lines(finding.fix)}"
    )


def _headline(examined: Examination) -> str:
    errors, total = len(examined.errors), len(examined.findings)
    hosts = counted(len(examined.records), "host")
    hosts += f"; {examined.lab}" if examined.lab else ""
    if not total:
        return f"{hosts}, nothing wrong"
    found = [counted(errors, "error")] if errors else []
    if total > errors:
        found.append(counted(total - errors, "warning"))
    return f"{hosts}, {' and '.join(found)}"
