"""Fixtures of a host that is reached by ssh, which is this machine."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from runtime.testing.sshd import SSHD, Sshd, running_sshd

NEAR_AND_FAR = pytest.mark.parametrize(
    "way", ["local", pytest.param("sshd", marks=pytest.mark.needs_sshd)], indirect=True
)
"""Marks a test that runs twice: on this machine alone, and with its first cluster behind sshd."""


@pytest.fixture(scope="session")
def far_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd | None]:
    """A running sshd, or None where there is none."""
    if SSHD is None:
        yield None
        return
    with running_sshd(tmp_path_factory.mktemp("sshd")) as server:
        yield server


@pytest.fixture
def way(request: pytest.FixtureRequest, far_host: Sshd | None) -> str:
    """What leads to the first cluster: nothing, except where `NEAR_AND_FAR` asks for ssh."""
    if far_host is None or getattr(request, "param", "local") == "local":
        return ""
    return f'{far_host.hop}<front-end python="{sys.executable}"/>'
