"""Which control interfaces a membrane gives its component, known before there is one."""

from __future__ import annotations

from gcm.interfaces.types import InterfaceType


def control_types(membrane: object) -> list[InterfaceType]:
    """Return the types of the control interfaces of a ready-made membrane or of a description.

    >>> [one.name for one in control_types("composite")][:2]
    ['lifecycle-controller', 'binding-controller']
    """
    # Here, because controllers are made of components.
    from gcm.membranes.control import CONTROL_SUFFIX
    from gcm.membranes.descriptions import DESCRIPTIONS
    from gcm.membranes.membrane import MembraneDescription

    described = (
        membrane if isinstance(membrane, MembraneDescription) else DESCRIPTIONS[f"{membrane}"]
    )
    return [InterfaceType(known.name + CONTROL_SUFFIX, known) for known in described.controllers]


def describes_membrane(found: object) -> bool:
    """Tell whether this is the description of a membrane."""
    from gcm.membranes.membrane import MembraneDescription

    return isinstance(found, MembraneDescription)
