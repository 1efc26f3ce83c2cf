"""Faults of a program that MPI lets pass: found by comparing what its ranks report. Pure.

`reports` holds what a rank reports of its calls, `comparison` compares calls of several ranks.
"""

from __future__ import annotations

from runtime.checks.reports import FaultFound

__all__ = ["FaultFound"]
