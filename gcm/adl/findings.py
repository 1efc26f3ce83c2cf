"""Findings about components; those of a definition are reported once for all its uses."""

from __future__ import annotations

from dataclasses import field

from gcm.adl.classes import ClassFault
from gcm.adl.structure import MissingClasses, is_missing
from gcm.documents import Diagnostics, Location, Severity
from gcm.records import dataclass


@dataclass(slots=True)
class Findings:
    """Reports to the diagnostics, each finding at a place only once.

    With `missing`, classes need not exist, and a missing one is no finding.
    """

    diagnostics: Diagnostics
    missing: MissingClasses | None = None
    _told: set[tuple[str, str, Location]] = field(default_factory=set)

    def report(
        self,
        code: str,
        message: str,
        location: Location,
        path: str,
        *,
        hint: str = "",
        detail: str = "",
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Report a finding about the component at `path`."""
        if self.missing is not None and is_missing(code):
            return
        key = (code, message, location)
        if key not in self._told:
            self._told.add(key)
            self.diagnostics.report(
                code, message, location, path=path, hint=hint, detail=detail, severity=severity
            )

    def class_fault(self, fault: ClassFault, location: Location, path: str) -> None:
        """Report why the component at `path` cannot have a class that it names."""
        self.report(fault.code, fault.message, location, path, hint=fault.hint, detail=fault.detail)
