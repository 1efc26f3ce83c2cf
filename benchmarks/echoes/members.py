"""Who takes part: the names, the secret and the certificates of both ends and of front-ends."""

from __future__ import annotations

import datetime
import os
import ssl
from pathlib import Path

from runtime.transport.certificate import CertificateAuthority
from runtime.transport.credentials import Credentials
from runtime.transport.keys import audience_of
from runtime.transport.tls import context_of

CERTIFICATE_FILE = "GCM_BENCH_CERTIFICATE"
"""The environment variable that names the file with the authority of a measurement."""

SECRET = b"not much of a secret: both ends are on this machine"
ENDS = ("0:0:0", "1:0:0")
FRONT_ENDS = ("0:0", "1:0")


def write_certificate(file: Path) -> None:
    """Make the authority of which both ends have certificates."""
    file.touch(mode=0o600)
    file.write_text(
        CertificateAuthority.create("a measurement", datetime.datetime.now(datetime.UTC)).pem
    )


def member(name: str, *, encrypts: bool) -> Credentials:
    """Return what a member proves itself with; one that `encrypts` does so everywhere."""
    if not encrypts:
        return Credentials(SECRET, name)
    return Credentials(SECRET, name, _certificate(audience_of(name)), trusts_loopback=False)


def context(*, serves: bool) -> ssl.SSLContext:
    """Return a context of the library for such a certificate."""
    own, begin, authority = _certificate("a measurement").decode().rpartition("-----BEGIN CERT")
    return context_of(own.encode(), begin + authority, dialled=not serves)


def _certificate(name: str) -> bytes:
    authority = CertificateAuthority.read(Path(os.environ[CERTIFICATE_FILE]).read_bytes())
    return authority.member(name, datetime.datetime.now(datetime.UTC))
