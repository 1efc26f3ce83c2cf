"""A place in a file."""

from __future__ import annotations

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class Location:
    """A file and a line in it, counted from 1; line 0 means the file as a whole."""

    file: str
    line: int

    def __str__(self) -> str:
        """Return `file:line`, the form that editors and terminals turn into a link."""
        return f"{self.file}:{self.line}" if self.line else self.file
