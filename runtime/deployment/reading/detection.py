"""Reads how failures are detected, and checks that the parameters fit each other."""

from __future__ import annotations

from runtime.deployment.model import DeployedSite, FailureDetection
from runtime.deployment.reading.structure import CheckedElement
from runtime.deployment.surroundings import Reading
from runtime.health import DetectorProtocol, UnfitDetector, fitted

_NONE = "none"


def read_detection(
    root: CheckedElement, sites: tuple[DeployedSite, ...], reading: Reading
) -> FailureDetection:
    """Return how failures are detected; a period that is too long for the timeout is a fault."""
    entry = root.only("failure-detector")
    if entry is None:
        return FailureDetection()
    written = entry.text("protocol")
    found = FailureDetection(
        protocol=None if written == _NONE else DetectorProtocol(written),
        timeout=entry.seconds("timeout"),
        period=entry.seconds("period") or None,
        frozen_is_lost=entry.text("frozen") == "lost",
        is_asked_for=True,
    )
    sizes = [len(site.clusters) for site in sites]
    is_hierarchical = found.protocol is DetectorProtocol.HIERARCHICAL
    members = 1 + (max(sizes, default=0) if is_hierarchical else sum(sizes))
    if found.protocol is not None:
        try:
            fitted(found.protocol, members, found.timeout, found.period)
        except UnfitDetector as fault:
            reading.fault("unfit-detector", fault.what, entry.location, hint=fault.cure)
    return found
