"""Test kits: contracts of launchers and streams, and hosts joined in one process."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "runtime.testing.launcher_contract", "runtime.testing.stream_contract"
)
