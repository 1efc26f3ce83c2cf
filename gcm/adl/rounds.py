"""When the rounds of a gathercast interface are over, as its `<interface>` says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from gcm.adl.definitions.model import Body, InterfaceNode
from gcm.adl.findings import Findings
from gcm.adl.plan import RoundsPlan
from gcm.documents import DURATION_HINT, did_you_mean, is_duration, seconds_of
from gcm.interfaces import AS_USUAL, ComponentType, RoundSettings, WhenLeft


def read_rounds(
    body: Body, component_type: ComponentType, findings: Findings, path: str
) -> Iterator[RoundsPlan]:
    """Yield the settings of the gathercast interfaces that have some; faults go to `findings`."""
    for node in body.interfaces:
        written = [name for name in _ATTRIBUTES if getattr(node, name)]
        if not written:
            continue
        declared = component_type.find(node.name)
        if declared is not None and not (declared.is_gathercast and declared.is_server):
            names = " and ".join(name.replace("_", "-") for name in written)
            message = f"{names} of interface '{node.name}' cannot be: it gathers no calls"
            hint = 'only a server interface with cardinality="gathercast" has rounds'
            findings.report("no-rounds", message, node.location, path, hint=hint)
            continue
        settings = _settings(node, findings, path)
        if settings is not None and declared is not None:
            yield RoundsPlan(node.name, settings)


def written_rounds(settings: RoundSettings) -> tuple[str, str, str]:
    """Return `wait-for-all`, `timeout` and `when-left` that say so; what is usual is left out."""
    usual = settings.when_left is AS_USUAL.when_left
    return (
        "" if settings.wait_for_all else "false",
        "" if settings.timeout is None else f"{settings.timeout:g}s",
        "" if usual else settings.when_left.value,
    )


_TRUTH = {"": AS_USUAL.wait_for_all, "true": True, "false": False}

_ATTRIBUTES = tuple(one.name for one in fields(RoundSettings))


def _settings(node: InterfaceNode, findings: Findings, path: str) -> RoundSettings | None:
    faults: list[tuple[str, str]] = []
    if node.timeout and not is_duration(node.timeout):
        faults.append((f"timeout '{node.timeout}' is not a duration", DURATION_HINT))
    if node.when_left and node.when_left not in tuple(WhenLeft):
        words = tuple(WhenLeft)
        hint = did_you_mean(node.when_left, words) or f"write one of: {', '.join(words)}"
        faults.append((f"when-left '{node.when_left}' is no such word", hint))
    waits = _TRUTH.get(node.wait_for_all)
    if waits is None:
        message = f"wait-for-all '{node.wait_for_all}' is neither true nor false"
        faults.append((message, "write false to make a call of each"))
    for message, hint in faults:
        findings.report(
            "bad-rounds",
            f"interface '{node.name}': {message}",
            node.location,
            path,
            hint=hint,
        )
    if faults or waits is None:
        return None
    return RoundSettings(
        waits,
        seconds_of(node.timeout) if node.timeout else None,
        WhenLeft(node.when_left or AS_USUAL.when_left),
    )
