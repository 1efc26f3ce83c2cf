"""Every protocol keeps the contract of detectors."""

from __future__ import annotations

from runtime.health import DetectorProtocol
from runtime.testing.detector_contract import DetectorContract


class TestRoundRobin(DetectorContract):
    protocol = DetectorProtocol.ROUND_ROBIN


class TestBrr(DetectorContract):
    protocol = DetectorProtocol.BRR


class TestDbrr(DetectorContract):
    protocol = DetectorProtocol.DBRR


class TestHierarchical(DetectorContract):
    protocol = DetectorProtocol.HIERARCHICAL
