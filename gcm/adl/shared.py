"""Finds the components that references to shared components lead to."""

from __future__ import annotations

from gcm.adl.definitions import absolute
from gcm.adl.drafts import Draft
from gcm.adl.findings import Findings
from gcm.documents import did_you_mean


def resolve_shared(root: Draft, findings: Findings) -> None:
    """Give each reference its target; references that lead nowhere keep none and are reported."""
    references = [draft for draft in root.walk() if draft.is_reference]
    for draft in references:
        target = _follow(draft, root, findings)
        if target is not None:
            draft.target = target
            draft.traits = target.traits
    if references and not _report_cycles(root, findings):
        _report_names(references, findings)


def _report_names(references: list[Draft], findings: Findings) -> None:
    """Report each reference with another name than its component, which keeps its own."""
    for draft in references:
        if draft.target is not None and draft.name != draft.target.name:
            reason = f"the component is named '{draft.target.name}' and keeps that name"
            hint = f'write name="{draft.target.name}", or rename the component where it is made'
            _report(draft, "shared-name", reason, hint, findings)


def _follow(draft: Draft, root: Draft, findings: Findings) -> Draft | None:
    """Return the component at the end of a chain of references."""
    seen: list[Draft] = []
    here = draft
    while here.is_reference:
        if here in seen:
            _report(draft, "shared-cycle", "it only leads back to itself", "", findings)
            return None
        seen.append(here)
        found = _find(here, draft, root, findings)
        if found is None:
            return None
        here = found
    return here


def _find(reference: Draft, origin: Draft, root: Draft, findings: Findings) -> Draft | None:
    assert reference.parent is not None, "the root is never a reference"
    steps = absolute(reference.node.definition, reference.parent.path).split("/")[1:]
    if steps[0] != root.name:
        hint = f"a path from the root begins with /{root.name}/"
        _report(origin, "missing-component", f"'{steps[0]}' is not the root", hint, findings)
        return None
    here = root
    for step in steps[1:]:
        inside = here.children
        if step not in inside:
            hint = did_you_mean(step, inside) or f"known: {', '.join(inside) or 'none'}"
            reason = f"{here.path} has no sub-component '{step}'"
            _report(origin, "missing-component", reason, hint, findings)
            return None
        here = inside[step]
    return here


def _report_cycles(root: Draft, findings: Findings) -> bool:
    """Report each reference through which a component would contain itself; tell if any does."""
    found = False
    open_paths: set[str] = set()
    done: set[str] = set()
    # Each entry is a component to enter, or to leave once all below it were visited.
    pending: list[tuple[Draft, Draft | None, bool]] = [(root, None, False)]
    while pending:
        draft, reference, leaving = pending.pop()
        if leaving:
            open_paths.discard(draft.path)
            done.add(draft.path)
        elif draft.path in open_paths:
            if reference is not None:
                found = True
                reason = "the component would contain itself"
                _report(reference, "shared-cycle", reason, "share it elsewhere", findings)
        elif draft.path not in done:
            open_paths.add(draft.path)
            pending.append((draft, None, True))
            for child in draft.children.values():
                if not child.is_reference:
                    pending.append((child, None, False))
                elif child.target is not None:
                    pending.append((child.target, child, False))
    return found


def _report(draft: Draft, code: str, reason: str, hint: str, findings: Findings) -> None:
    message = f"'{draft.name}' cannot share {draft.node.definition}: {reason}"
    findings.report(code, message, draft.node.location, draft.path, hint=hint)
