from __future__ import annotations

import shutil
import subprocess

import pytest

from runtime.deployment.language.ssh_options import ALLOWED, ssh_settings

NOT_FOR_DESCRIPTORS = "is not for a descriptor, whose options run no program and change neither end"


def test_options_become_settings_in_their_order() -> None:
    options = ["-o", "ServerAliveInterval=2", "-6", "-oCiphers=aes128-ctr,aes256-ctr", "-C"]
    assert ssh_settings(options) == (
        ("ServerAliveInterval", "2"),
        ("AddressFamily", "inet6"),
        ("Ciphers", "aes128-ctr,aes256-ctr"),
        ("Compression", "yes"),
    )
    assert ssh_settings(["-4", "-o", "SendEnv LANG LC_*"]) == (
        ("AddressFamily", "inet"),
        ("SendEnv", "LANG LC_*"),
    )
    assert ssh_settings(["-o", "Ciphers  = aes128-ctr"]) == (("Ciphers", "aes128-ctr"),)
    assert ssh_settings([]) == ()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["-v"], "'-v' is none of -4, -6, -C and -o NAME=VALUE"),
        (["gate"], "'gate' is none of -4, -6, -C and -o NAME=VALUE"),
        (["-p", "22"], "-p is set by the attribute port"),
        (["-p22"], "-p is set by the attribute port"),
        (["-i", "key"], "-i is set by the attribute key"),
        (["-lme"], "-l is set by the attribute user"),
        (["-J", "gate"], "-J is set by one <ssh> for each hop"),
        (["-o", "Ciphers == a"], "'Ciphers == a' behind -o is not NAME=VALUE on one line"),
        (["-o"], "'' behind -o is not NAME=VALUE on one line"),
        (["-o", "Compression"], "'Compression' behind -o is not NAME=VALUE on one line"),
        (
            ["-o", "SendEnv=A\nHost *"],
            "'SendEnv=A\\nHost *' behind -o is not NAME=VALUE on one line",
        ),
        (["-o", "proxyjump=other"], "proxyjump is set by one <ssh> for each hop"),
        (["-oPort=3"], "Port is set by the attribute port"),
        (
            ["-oStrictHostKeyChecking=no"],
            'StrictHostKeyChecking is set by the attribute new-host-keys="accept"',
        ),
        (
            ["-o", "stricthostkeychecking accept-new"],
            'stricthostkeychecking is set by the attribute new-host-keys="accept"',
        ),
        (
            ["-oStrictHostKeyChecking=yes"],
            'StrictHostKeyChecking is set by the attribute new-host-keys="refuse"',
        ),
        (["-oProxyCommand=x"], "ProxyCommand is set by one <ssh> for each hop"),
        (["-oPKCS11Provider=x"], f"PKCS11Provider {NOT_FOR_DESCRIPTORS}"),
        (["-oInclude=x"], f"Include {NOT_FOR_DESCRIPTORS}"),
        (["-oForwardAgent=x"], f"ForwardAgent {NOT_FOR_DESCRIPTORS}"),
        (["-oIdentityAgent=x"], f"IdentityAgent {NOT_FOR_DESCRIPTORS}"),
        (["-oVerifyHostKeyDNS=x"], f"VerifyHostKeyDNS {NOT_FOR_DESCRIPTORS}"),
        (["-oCanonicalizeHostname=x"], f"CanonicalizeHostname {NOT_FOR_DESCRIPTORS}"),
        (["-oRequestTTY=x"], f"RequestTTY {NOT_FOR_DESCRIPTORS}"),
        (["-oInvented=x"], f"Invented {NOT_FOR_DESCRIPTORS}"),
        (
            ["-oConnectTimout=3"],
            f"ConnectTimout {NOT_FOR_DESCRIPTORS}; did you mean 'ConnectTimeout'?",
        ),
        (["-oSendEnv=A\x01"], "'SendEnv=A\\x01' behind -o is not NAME=VALUE on one line"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(options: list[str], why: str) -> None:
    with pytest.raises(ValueError, match=".") as found:
        ssh_settings(options)
    assert str(found.value) == why


def test_what_no_attribute_says_can_be_an_option() -> None:
    options = ["-oPort=2222", "-o", "StrictHostKeyChecking=accept-new"]
    with pytest.raises(ValueError, match="'-p' is none of -4, -6, -C and -o NAME=VALUE"):
        ssh_settings(["-p", "22"], ["options"])
    assert ssh_settings(options, ["options"]) == (
        ("Port", "2222"),
        ("StrictHostKeyChecking", "accept-new"),
    )


@pytest.mark.parametrize(
    ("option", "why"),
    [
        (
            "StrictHostKeyChecking=no",
            "StrictHostKeyChecking can be yes or accept-new: a changed key is never trusted",
        ),
        ("HostName=other", f"HostName {NOT_FOR_DESCRIPTORS}"),
        ("ProxyCommand=x", "ProxyCommand is set by one <ssh> for each hop"),
    ],
)
def test_what_no_attribute_says_is_not_always_for_an_option(option: str, why: str) -> None:
    with pytest.raises(ValueError, match=".") as found:
        ssh_settings(["-o", option], ["options"])
    assert str(found.value) == why


@pytest.mark.skipif(shutil.which("ssh") is None, reason="needs the ssh client")
def test_every_allowed_name_is_one_of_the_client() -> None:
    """The client tells an unknown name from a bad value; some are only known to some builds."""
    optional = {"BindInterface", "FingerprintHash", "RequiredRSASize"}
    optional |= {name for name in ALLOWED if name.startswith("GSSAPI")}
    for name in set(ALLOWED) - optional:
        said = subprocess.run(
            ["ssh", "-F", "none", "-G", "-o", f"{name}=", "host"],
            capture_output=True, text=True, check=False,
        ).stderr  # fmt: skip
        assert "Bad configuration option" not in said, name
