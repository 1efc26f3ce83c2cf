"""Test kits for those who write a launcher or a transport: contracts, as pytest classes."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "runtime.testing.launcher_contract", "runtime.testing.stream_contract"
)
