"""What every launcher promises, asked of the local one and over ssh."""

from __future__ import annotations

import pytest

from runtime.testing.launcher_contract import LauncherContract

pytestmark = pytest.mark.needs_sshd


class TestLaunchers(LauncherContract):
    """The fixtures `launcher` and `own_launcher` are those of the folder."""
