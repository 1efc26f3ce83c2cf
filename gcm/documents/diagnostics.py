"""Findings about documents, with their locations, collected so that one run reports them all."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from gcm.documents.location import Location
from gcm.records import dataclass


class Severity(StrEnum):
    """How bad a finding is: an error stops the document from being used, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    `code` is a stable kebab-case word, `path` the component it is about (`/root/child`), `hint`
    what to do next, and `detail` longer text such as the traceback of a user's module.
    """

    code: str
    message: str
    location: Location
    path: str = ""
    hint: str = ""
    detail: str = ""
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        """Return the finding on one line, without its detail.

        For example `farm.fractal:12: error[unknown-class]: no class 'a.B' (component /farm/w).
        did you mean 'a.C'?`.
        """
        where = f" (component {self.path})" if self.path else ""
        stop = "" if self.message.endswith("?") else "."
        hint = f"{stop} {self.hint}" if self.hint else ""
        return f"{self.location}: {self.severity}[{self.code}]: {self.message}{where}{hint}"

    def as_dict(self) -> dict[str, object]:
        """Return the finding as plain values, ready for JSON."""
        return {
            "code": self.code,
            "severity": str(self.severity),
            "message": self.message,
            "file": self.location.file,
            "line": self.location.line,
            "path": self.path,
            "hint": self.hint,
            "detail": self.detail,
        }


class Diagnostics:
    """An ordered collector of findings; it is false while it is empty.

    >>> found = Diagnostics()
    >>> found.report("malformed-xml", "no root element", Location("a.fractal", 1))
    >>> len(found.errors)
    1
    """

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []

    def add(self, diagnostic: Diagnostic) -> None:
        """Append a finding."""
        self._found.append(diagnostic)

    def report(
        self,
        code: str,
        message: str,
        location: Location,
        *,
        path: str = "",
        hint: str = "",
        detail: str = "",
        severity: Severity = Severity.ERROR,
    ) -> None:
        """Append a finding made of these parts; see `Diagnostic`."""
        self.add(Diagnostic(code, message, location, path, hint, detail, severity))

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The findings that stop the document from being used, in the order of their discovery."""
        return tuple(found for found in self._found if found.severity is Severity.ERROR)

    def by_location(self) -> tuple[Diagnostic, ...]:
        """Return all findings by file and line; those of one line keep their order."""
        return tuple(
            sorted(self._found, key=lambda found: (found.location.file, found.location.line))
        )

    def __iter__(self) -> Iterator[Diagnostic]:
        """Go through the findings in the order of their discovery."""
        return iter(self._found)

    def __len__(self) -> int:
        """Return the number of findings, warnings included."""
        return len(self._found)
