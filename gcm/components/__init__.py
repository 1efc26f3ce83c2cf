"""Components: primitives, composites, wrappers and clustering components, and their factory."""

from gcm.components.declarations import (
    declared_attributes,
    declared_interfaces,
    declared_type,
)
from gcm.components.making import GIVE_DEFAULTS, needed_arguments

__all__ = [
    "GIVE_DEFAULTS",
    "declared_attributes",
    "declared_interfaces",
    "declared_type",
    "needed_arguments",
]
