"""Components of every kind, what their classes declare, and what a membrane is."""

from gcm.components.controller import Controller
from gcm.components.declarations import (
    GIVE_DEFAULTS,
    declared_attributes,
    declared_interfaces,
    declared_type,
    needed_arguments,
)
from gcm.components.membrane import MembraneDescription, control_name, controller_name
from gcm.components.notes import (
    MULTIPLE,
    NO_NOTES,
    SINGLE,
    CommentNote,
    ExportedNodeNote,
    Notes,
    VirtualNodeNote,
)

__all__ = [
    "GIVE_DEFAULTS",
    "MULTIPLE",
    "NO_NOTES",
    "SINGLE",
    "CommentNote",
    "Controller",
    "ExportedNodeNote",
    "MembraneDescription",
    "Notes",
    "VirtualNodeNote",
    "control_name",
    "controller_name",
    "declared_attributes",
    "declared_interfaces",
    "declared_type",
    "needed_arguments",
]
