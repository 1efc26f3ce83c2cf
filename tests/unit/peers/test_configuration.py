"""The configuration of a peer: defaults that are documented, and all faults at once."""

from __future__ import annotations

import ipaddress
import tomllib
from pathlib import Path

import pytest

from runtime.peers.configuration.folder import PeerFolder
from runtime.peers.configuration.reading import read, read_text
from runtime.peers.configuration.settings import SETTINGS, reference, template
from runtime.peers.errors import PeerError
from runtime.peers.model import Address, Share


def test_a_peer_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    found = read(tmp_path / "peer.toml")
    assert found.share.applications == 1
    assert found.users is None
    assert found.owner_share == Share(0, 0)


def test_the_template_has_every_setting_and_changes_nothing() -> None:
    lines = [line.removeprefix("# ") for line in template().splitlines() if " = " in line]
    uncommented = "\n".join(lines)
    assert set(tomllib.loads(uncommented)) == {one.name for one in SETTINGS}
    assert read_text(uncommented).values == read_text("").values


def test_all_faults_are_told_at_once_each_with_its_line() -> None:
    wrong = 'aplications = 1\nprocesses = 0\n\ndeny = ["10.1.", "x"]\nports = "9-1"\n[users]\n'
    with pytest.raises(PeerError) as raised:
        read_text(wrong, "/etc/peer.toml")
    assert str(raised.value).splitlines()[1:] == [
        "    /etc/peer.toml:1: there is no setting aplications; did you mean 'applications'?",
        '    /etc/peer.toml:2: processes has to be a whole number from 1, or "cores"',
        "    /etc/peer.toml:6: users has to be a list of names of users",
        '    /etc/peer.toml:4: deny has to be a list of addresses and prefixes, and "x" is none',
        '    /etc/peer.toml:5: ports has to be a port such as 7701, or a range such as "7701-7709"',
    ]


@pytest.mark.parametrize(
    "line",
    ["applications = -1", "applications = true", 'applications = "2"', "processes = 1.5",
     'deny = "10.1."', "deny = [10]", "ports = 70000", 'ports = "1-99999"', "lease = 0",
     'address = "a b"', 'supernodes = ["a:b:c:d e"]', 'users = ["a b"]', 'revoked = ["alice"]',
     'cache_size = "many"', "lease = inf", "lease = nan", 'log_level = "loud"'],
)  # fmt: skip
def test_a_wrong_value_is_told_with_its_line(line: str) -> None:
    with pytest.raises(PeerError, match=f"peer.toml:2: {line.split(maxsplit=1)[0]} has to be"):
        read_text(f"\n{line}\n")


def test_what_is_no_toml_is_told_with_its_line() -> None:
    with pytest.raises(PeerError, match=r"not TOML(.|\n)*line 2"):
        read_text("lease = 9\napplications = = 3\n")


def test_addresses_without_a_port_have_the_usual_one() -> None:
    found = read_text('supernodes = ["lab1", "[::1]:7711"]\naddress = "desk"')
    assert found.supernodes == (Address("lab1", 7700), Address("::1", 7711))
    assert found.text("address") == "desk"


def test_a_prefix_is_written_in_either_way() -> None:
    [first, second, third] = read_text('deny = ["10.1.", "10.1.0.0/16", "fe80::1"]').deny
    assert first == second == ipaddress.ip_network("10.1.0.0/16")
    assert third == ipaddress.ip_network("fe80::1/128")


def test_living_hosts_must_not_count_as_gone() -> None:
    with pytest.raises(PeerError, match=r"peer.toml:1: expire_after \(90\) has to be more than"):
        read_text("alive_every = 60")


def test_a_folder_is_named_or_that_of_the_user(tmp_path: Path) -> None:
    assert PeerFolder.of("/x", {}).path == Path("/x")
    assert PeerFolder.of("", {"GCM_PEER_FOLDER": "/y"}).path == Path("/y")
    assert PeerFolder.of("", {"GCM_FOLDER": str(tmp_path)}).path == tmp_path / "peer"


def test_the_page_about_peers_has_the_table_of_settings() -> None:
    page = (Path(__file__).parents[3] / "docs/peers.md").read_text("utf-8")
    shown = page.partition("<!-- settings -->\n")[2].partition("<!-- end of settings -->")[0]
    assert shown == reference(), "write it again: gcm-peer config --reference"
