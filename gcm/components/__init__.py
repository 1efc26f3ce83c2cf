"""Components: primitives, composites, wrappers and clustering components, and their factory."""

from gcm.components.declarations import (
    declared_attributes,
    declared_interfaces,
    declared_type,
)

__all__ = ["declared_attributes", "declared_interfaces", "declared_type"]
