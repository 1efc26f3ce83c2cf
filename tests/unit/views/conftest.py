"""The plans of `gcm-deploy`, from which the facts of a run begin."""

from __future__ import annotations

from tests.unit.cli.deploy.conftest import plan

__all__ = ["plan"]
