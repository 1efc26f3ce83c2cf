"""Makes the plan of an assembly from drafts without errors."""

from __future__ import annotations

from gcm.adl.drafts import Draft
from gcm.adl.plan import (
    AssemblyPlan,
    ComponentPlan,
    MembranePlan,
    SharedPlan,
)
from gcm.components import NO_NOTES, CommentNote, ExportedNodeNote, Notes


def plan_of(root: Draft) -> AssemblyPlan:
    """Return the plan; the drafts must have passed all checks."""
    count = sum(1 for draft in root.walk() if not draft.is_reference and not draft.is_membrane)
    return AssemblyPlan(_component(root), count)


def _component(draft: Draft) -> ComponentPlan:
    traits = draft.traits
    return ComponentPlan(
        name=draft.name,
        path=draft.path,
        component_type=traits.component_type,
        membrane=_membrane(draft),
        content=traits.content,
        attributes=traits.attributes,
        interceptors=traits.interceptors,
        rounds=traits.rounds,
        components=_components(draft),
        shared=tuple([_shared(one) for one in draft.children.values() if one.is_reference]),
        bindings=tuple(draft.bindings),
        notes=_notes(draft),
        location=draft.node.location,
    )


def _notes(draft: Draft) -> Notes:
    body, node = draft.node.body, draft.traits.virtual_node
    exported = [
        ExportedNodeNote(one.name, tuple((part.component, part.name) for part in one.composed_from))
        for one in body.exported_virtual_nodes
    ]
    comments = [CommentNote(one.text, one.language) for one in body.comments]
    if not (body.logger or node or exported or comments):
        return NO_NOTES
    logger = body.logger.name if body.logger else ""
    return Notes(logger, node, tuple(exported), tuple(comments))


def _components(draft: Draft) -> tuple[ComponentPlan, ...]:
    return tuple([_component(one) for one in draft.children.values() if not one.is_reference])


def _membrane(draft: Draft) -> MembranePlan:
    inside = draft.membrane
    kind, description = draft.traits.kind, draft.traits.description
    is_template = draft.traits.is_template
    if inside is None:
        return MembranePlan(kind, description, is_template=is_template)
    return MembranePlan(
        kind,
        description,
        inside.traits.component_type,
        _components(inside),
        tuple(inside.bindings),
        is_template,
    )


def _shared(draft: Draft) -> SharedPlan:
    assert draft.target is not None, "a reference without a target was reported"
    return SharedPlan(draft.name, draft.target.path, draft.node.location)
