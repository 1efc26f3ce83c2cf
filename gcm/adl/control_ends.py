"""The control interfaces that a component will have, known before it is made."""

from __future__ import annotations

from gcm.adl.drafts import Draft
from gcm.adl.plan import MembraneKind
from gcm.components import control_name, controller_name
from gcm.factory import control_types
from gcm.interfaces import InterfaceType


def control_type(owner: Draft, name: str) -> InterfaceType | None:
    """Return the type of a control interface, or of one that the membrane has to the outside."""
    for known in _control_types(owner) if controller_name(name) else ():
        if known.name == control_name(controller_name(name)):
            return known
    inside = _made(owner).membrane
    found = inside.traits.find(name) if inside else None
    return None if found is None or found.is_internal else found


def control_names(owner: Draft) -> list[str]:
    """Return the names of the control interfaces; none where the membrane is not known."""
    return [known.name for known in _control_types(owner)]


def has_known_membrane(owner: Draft) -> bool:
    """Return whether the membrane that the document asks for was found."""
    made = _made(owner)
    if made.is_reference or made.traits.incomplete:
        return False
    controller = made.node.body.controller
    desc = controller.desc if controller else ""
    return not desc or desc in list(MembraneKind) or made.traits.description is not None


def _control_types(owner: Draft) -> list[InterfaceType]:
    traits = _made(owner).traits
    return control_types(traits.description or traits.kind) if has_known_membrane(owner) else []


def _made(owner: Draft) -> Draft:
    """Return the component that a reference leads to, and around the inside of a membrane."""
    made = owner.target or owner
    return made.parent if made.is_membrane and made.parent else made
