"""What documents say of a component that changes nothing of how it works: kept with it."""

from __future__ import annotations

from gcm.records import dataclass

SINGLE, MULTIPLE = "single", "multiple"


@dataclass(frozen=True, slots=True)
class VirtualNodeNote:
    """The virtual node of the component: where it wants to be deployed."""

    name: str
    multiple: bool = False

    @property
    def cardinality(self) -> str:
        """Whether it stands for one place or for several, as documents say it."""
        return MULTIPLE if self.multiple else SINGLE


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
