"""Components: primitives, composites, wrappers and clustering components, and their factory."""

from gcm.components.controls import control_types, describes_membrane
from gcm.components.declarations import (
    declared_attributes,
    declared_interfaces,
    declared_type,
)
from gcm.components.making import GIVE_DEFAULTS, needed_arguments

__all__ = [
    "GIVE_DEFAULTS",
    "control_types",
    "declared_attributes",
    "declared_interfaces",
    "declared_type",
    "describes_membrane",
    "needed_arguments",
]
