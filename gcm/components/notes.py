"""Parts of a document that do not change how a component works in this process."""

from __future__ import annotations

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class VirtualNodeNote:
    """The virtual node of the component."""

    name: str
    multiple: bool = False


@dataclass(frozen=True, slots=True)
class ExportedNodeNote:
    """A virtual node made of those of sub-components, as (component, virtual node)."""

    name: str
    composed_from: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CommentNote:
    """A text for people."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """Kept with a live component, so that an exported document contains them again."""

    logger: str = ""
    virtual_node: VirtualNodeNote | None = None
    exported_nodes: tuple[ExportedNodeNote, ...] = ()
    comments: tuple[CommentNote, ...] = ()


NO_NOTES = Notes()
