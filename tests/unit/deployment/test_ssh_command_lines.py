"""The command lines that lead to a machine over ssh, and what the real ssh makes of them."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from runtime.deployment.model import SshHop
from runtime.deployment.planning.commands import over_ssh

QUIET = ("ssh", "-o", "BatchMode=yes", "-o", "ControlMaster=no")


def test_without_hops_the_command_is_itself() -> None:
    assert over_ssh((), ("a", "b c")) == ("a", "b c")


def test_the_command_is_quoted_for_the_remote_shell() -> None:
    argv = over_ssh((SshHop("h"),), ("a", "b c", "$x"), "my folder")
    assert argv == (*QUIET, "--", "h", "cd 'my folder' && exec a 'b c' '$x'")


def test_a_hop_has_its_own_key_port_and_known_hosts() -> None:
    hop = SshHop("h", 2222, "me", "/k/100%", "/my hosts", ("-4",), "/opt/ssh")
    assert over_ssh((hop,), ("true",)) == (
        "/opt/ssh", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-p", "2222",
        "-o", "IdentitiesOnly=yes", "-o", 'IdentityFile="/k/100%%"',
        "-o", 'UserKnownHostsFile="/my hosts"', "-4", "--", "me@h", "true",
    )  # fmt: skip


def test_the_key_of_a_new_host_is_believed_only_where_that_was_said() -> None:
    for accepts, words in ((True, ("-o", "StrictHostKeyChecking=accept-new")), (False, ())):
        hop = SshHop("h", accept_new=accepts)
        assert over_ssh((hop,), ("true",)) == (*QUIET, *words, "--", "h", "true")


def test_each_hop_tunnels_through_the_one_before() -> None:
    argv = over_ssh((SshHop("a", user="u"), SshHop("b", 22)), ("true",))
    assert argv == (
        *QUIET, "-p", "22",
        "-o", "ProxyCommand=ssh -o BatchMode=yes -o ControlMaster=no -W '[%h]:%p' -- u@a",
        "--", "b", "true",
    )  # fmt: skip


def test_with_three_hops_the_inner_tunnel_keeps_its_own_placeholders() -> None:
    argv = over_ssh((SshHop("a"), SshHop("b"), SshHop("c")), ("true",))
    (outer,) = (word for word in argv if word.startswith("ProxyCommand="))
    # what ssh does for c before it starts the shell
    expanded = outer.removeprefix("ProxyCommand=").replace("%%", "\0")
    expanded = expanded.replace("%h", "c").replace("%p", "22").replace("\0", "%")
    words = shlex.split(expanded)
    assert words[-4:] == ["-W", "[c]:22", "--", "b"]
    (inner,) = (word for word in words if word.startswith("ProxyCommand="))
    assert inner == "ProxyCommand=ssh -o BatchMode=yes -o ControlMaster=no -W '[%h]:%p' -- a"


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs the ssh client")
def test_the_ssh_client_understands_every_option(tmp_path: Path) -> None:
    hops = (
        SshHop("gate.example", 2201, "u", str(tmp_path / "a key"), str(tmp_path / "known 1")),
        SshHop("front.example", 2202, "v", str(tmp_path / "b%key"), str(tmp_path / "known 2")),
    )
    argv = over_ssh(hops, ("true",))
    shown = subprocess.run(
        [argv[0], "-F", "none", "-G", *argv[1:]], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert "hostname front.example" in shown
    assert "user v" in shown
    assert "port 2202" in shown
    assert "batchmode yes" in shown
    assert "identitiesonly yes" in shown
    (tunnel,) = (line for line in shown if line.startswith("proxycommand "))
    assert tunnel.endswith("-W '[%h]:%p' -- u@gate.example")
