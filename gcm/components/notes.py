"""What a document says of a component that does not change how it works in this process."""

from __future__ import annotations

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class VirtualNodeNote:
    """Where the component wants to be deployed."""

    name: str
    multiple: bool = False


@dataclass(frozen=True, slots=True)
class ExportedNodeNote:
    """A virtual node made of those of sub-components, as (component, virtual node)."""

    name: str
    composed_from: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """Kept beside a live component, so that its export says again what its document said."""

    logger: str = ""
    virtual_node: VirtualNodeNote | None = None
    exported_nodes: tuple[ExportedNodeNote, ...] = ()


NO_NOTES = Notes()
