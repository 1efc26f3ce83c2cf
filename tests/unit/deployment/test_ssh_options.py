from __future__ import annotations

import pytest

from runtime.deployment.ssh_options import ssh_settings


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
    assert ssh_settings([]) == ()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["-v"], "'-v' is none of -4, -6, -C and -o NAME=VALUE"),
        (["gate"], "'gate' is none of -4, -6, -C and -o NAME=VALUE"),
        (["-o"], "'' behind -o is not NAME=VALUE on one line"),
        (["-o", "Compression"], "'Compression' behind -o is not NAME=VALUE on one line"),
        (
            ["-o", "SendEnv=A\nHost *"],
            "'SendEnv=A\\nHost *' behind -o is not NAME=VALUE on one line",
        ),
        (["-o", "proxyjump=other"], "proxyjump is said by one <ssh> for each hop"),
        (["-oPort=3"], "Port is said by the attribute port"),
        (
            ["-oStrictHostKeyChecking=no"],
            "StrictHostKeyChecking is said by the attribute known-hosts",
        ),
        (["-o", "RequestTTY=yes"], "RequestTTY would break a connection that carries a deployment"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(options: list[str], why: str) -> None:
    with pytest.raises(ValueError, match=".") as found:
        ssh_settings(options)
    assert str(found.value) == why
