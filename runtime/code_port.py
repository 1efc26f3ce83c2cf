"""Ports of codes, and the links between them that a descriptor makes. Pure."""

from __future__ import annotations

from typing import NamedTuple


class CodePort(NamedTuple):
    """A port: the code that has it, and its name there."""

    code: str
    name: str

    @classmethod
    def find(cls, text: str) -> CodePort | None:
        """Return the port of `code.name`, None for what is none; names of codes may have dots.

        >>> CodePort.find("ocean.v2.sst")
        CodePort(code='ocean.v2', name='sst')
        """
        code, _, name = text.strip().rpartition(".")
        return cls(code, name) if code and name else None

    def __str__(self) -> str:
        return f"{self.code}.{self.name}"


class PortLink(NamedTuple):
    """What one code gives at a port and another one takes at a port of its own."""

    giver: CodePort
    taker: CodePort

    def __str__(self) -> str:
        return f"{self.giver} to {self.taker}"
