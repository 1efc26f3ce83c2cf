"""Test kits for extensions of the framework: a contract of controllers, and a scripted clock."""

from __future__ import annotations

import pytest

# before the import: pytest rewrites only what is imported later
pytest.register_assert_rewrite("gcm.testing.controller_contract")

from gcm.testing.clock import ScriptedClock  # noqa: E402
from gcm.testing.controller_contract import ControllerContract  # noqa: E402

__all__ = ["ControllerContract", "ScriptedClock"]
