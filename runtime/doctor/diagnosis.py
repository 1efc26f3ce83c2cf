"""From records and connections to sorted findings. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gcm.documents import Severity
from runtime.doctor.between import check_connections, check_versions
from runtime.doctor.checks import CHECKS
from runtime.doctor.reaching import check_reached
from runtime.doctor.records import Dial, Finding, Record
from runtime.topology import Grid


def findings_of(
    records: Sequence[Record], grid: Grid | None = None, dials: Iterable[Dial] = ()
) -> list[Finding]:
    """Return all findings: errors before warnings, then in the order of the hosts.

    >>> from runtime.doctor.records import ExaminedHost, HostFacts
    >>> host = ExaminedHost("this machine", "python3", needs_mpi=True, ranks=1)
    >>> facts = HostFacts("n", "ana", "python3", (3, 11, 2))
    >>> [one.code for one in findings_of([Record(host, facts)])]
    ['no-mpiexec']
    """
    found: list[Finding] = []
    for record in records:
        found += check_reached(record)
        if record.facts is not None:
            for check in CHECKS:
                found += check(record.host, record.facts, record)
    found += check_versions(records)
    if grid is not None:
        found += check_connections(grid, records, dials)
    return sorted(found, key=lambda one: one.severity is not Severity.ERROR)
