"""Labs and credentials: made by one command, read with all that can be wrong about them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.peers.credentials.authority import Authority
from runtime.peers.credentials.credential import Credential
from runtime.peers.errors import PeerError
from runtime.peers.model import Address, MemberRole, Principal

NOW = datetime.datetime.now(datetime.UTC)


def test_a_credential_is_read_as_it_was_written(tmp_path: Path) -> None:
    lab = Authority.create("theirs", tmp_path / "lab", NOW, [Address("lab1", 7700)])
    made = lab.invite(Principal.parse("user:alice"), NOW)
    made.write(tmp_path / "alice")
    read = Credential.read(tmp_path / "alice", role=MemberRole.USER)
    assert (read.header, read.pem) == (made.header, made.pem)
    assert read.header.supernodes == (Address("lab1", 7700),)


def test_nobody_else_can_read_what_a_lab_writes(lab: Authority, written: Path) -> None:
    files = [written, lab.folder / "authority.pem", lab.folder]
    assert [file.stat().st_mode & 0o77 for file in files] == [0, 0, 0]


def test_a_lab_remembers_whom_it_has_invited(tmp_path: Path) -> None:
    lab = Authority.create("theirs", tmp_path, NOW)
    lab.invite(Principal.parse("peer:host1"), NOW, days=10)
    [invited] = Authority.open(tmp_path).invited()
    assert invited.principal == "peer:host1"
    assert Authority.open(tmp_path).lab == "theirs"


def test_a_lab_is_never_replaced(lab: Authority) -> None:
    before = (lab.folder / "authority.pem").read_bytes()
    with pytest.raises(PeerError, match="a lab of that name already exists"):
        Authority.create("ourlab", lab.folder, NOW)
    assert (lab.folder / "authority.pem").read_bytes() == before


def test_the_key_is_never_shown(invite: Callable[[str], Credential]) -> None:
    assert "KEY" not in repr(invite("user:alice"))


def _edited(old: str, new: str) -> Callable[[Path], None]:
    def edit(file: Path) -> None:
        file.write_text(re.sub(old, new, file.read_text(), count=1))

    return edit


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda file: file.chmod(0o640), "others on this machine can read"),
        (lambda file: file.unlink(), "cannot be read.*gcm-peer lab invite"),
        (lambda file: file.write_bytes(b"\xff"), "cannot be read"),
        (lambda file: file.write_text(""), "not the credential"),
        (_edited("peer:host7", "peer:host8"), "says it is that of peer:host8.*peer:host7"),
        (_edited("CERTIFICATE-----\n....", "CERTIFICATE-----\nAAAA"), "damaged"),
        (_edited("principal: .*", "principal: nobody"), "does not name a member"),
    ],
)
def test_what_is_wrong_with_a_credential_is_told_with_its_file(
    written: Path, damage: Callable[[Path], None], told: str
) -> None:
    damage(written)
    with pytest.raises(PeerError) as raised:
        Credential.read(written)
    assert re.search(told, str(raised.value), re.DOTALL)
    assert str(written) in str(raised.value)


def test_a_credential_for_another_role_is_refused(written: Path) -> None:
    with pytest.raises(PeerError, match="credential of peer:host7, and one of a user is needed"):
        Credential.read(written, role=MemberRole.USER)


def test_a_credential_that_is_out_of_date_says_so(tmp_path: Path, lab: Authority) -> None:
    long_ago = NOW - datetime.timedelta(days=9)
    lab.invite(Principal.parse("user:bob"), long_ago, days=3).write(tmp_path / "bob")
    with pytest.raises(PeerError, match="was good until"):
        Credential.read(tmp_path / "bob")


def test_a_clock_that_is_an_hour_behind_accepts_what_was_just_made(lab: Authority) -> None:
    later = NOW + datetime.timedelta(hours=1)
    made = lab.invite(Principal.parse("user:carol"), later)
    Credential.parse(f"{made.header}{made.pem}")


def test_a_credential_knows_for_how_long_it_is_good(lab: Authority) -> None:
    made = lab.invite(Principal.parse("user:dave"), NOW, days=10)
    assert 9.9 < made.days_left < 10
