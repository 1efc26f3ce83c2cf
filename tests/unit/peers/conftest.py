"""A lab whose credentials were made once."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.peers.credentials.authority import Authority
from runtime.peers.credentials.credential import Credential
from runtime.peers.model import Principal

NOW = datetime.datetime.now(datetime.UTC)
Invite = Callable[[str], Credential]


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the authority of a lab."""
    return Authority.create("ourlab", tmp_path_factory.mktemp("labs") / "ourlab", NOW)


@pytest.fixture(scope="session")
def other_lab(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return the authority of a lab with the same name."""
    return Authority.create("ourlab", tmp_path_factory.mktemp("labs") / "ourlab", NOW)


@pytest.fixture(scope="session")
def invite(lab: Authority) -> Invite:
    """Return what makes a credential of the lab for a principal."""
    return lambda written: lab.invite(Principal.parse(written), NOW)


@pytest.fixture
def written(tmp_path: Path, invite: Invite) -> Path:
    """Return the file with the credential of a peer."""
    file = tmp_path / "host7.credential"
    invite("peer:host7").write(file)
    return file
