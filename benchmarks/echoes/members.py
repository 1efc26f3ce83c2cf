"""Who takes part: the names, the secret and the certificate of both ends and of front-ends."""

from __future__ import annotations

import datetime
import os
import ssl
from pathlib import Path

from runtime.transport.certificate import make_certificate
from runtime.transport.credentials import Credentials

CERTIFICATE_FILE = "GCM_BENCH_CERTIFICATE"
"""The environment variable that names the file with the certificate of a measurement."""

SECRET = b"not much of a secret: both ends are on this machine"
ENDS = ("0:0:0", "1:0:0")
FRONT_ENDS = ("0:0", "1:0")


def write_certificate(file: Path) -> None:
    """Make the certificate that both ends use."""
    file.touch(mode=0o600)
    file.write_bytes(make_certificate("a measurement", datetime.datetime.now(datetime.UTC)))


def member(name: str, *, encrypts: bool) -> Credentials:
    """Return what a member proves itself with; one that `encrypts` does so everywhere."""
    if not encrypts:
        return Credentials(SECRET, name)
    certificate = Path(os.environ[CERTIFICATE_FILE]).read_bytes()
    return Credentials(SECRET, name, certificate, trusts_loopback=False)


def context(*, serves: bool) -> ssl.SSLContext:
    """Return a context of the library for the same certificate."""
    file = os.environ[CERTIFICATE_FILE]
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if serves else ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_verify_locations(file)
    made.load_cert_chain(file)
    return made
