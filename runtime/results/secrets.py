"""Tells which files are not copied for what they hold: secrets, and records of runs.

Secrets are keys, passwords and credentials of a lab.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress

SECRET_NAMES = frozenset(
    (".ssh", ".gnupg", ".aws", ".netrc", "_netrc", ".env", ".pgpass", ".git-credentials", ".pypirc")
)
_ENDINGS = (".pem", ".p12", ".pfx")

MOST_READ = 1 << 16
"""Bytes at the beginning of a file in which a key is looked for."""

_CREDENTIAL = re.compile(rb"^# gcm credential\s.*^-----BEGIN", re.M | re.S)
_KEY = re.compile(
    rb"^[ \t]*(-----BEGIN ([A-Z0-9]+ )*PRIVATE KEY( BLOCK)?-----|PuTTY-User-Key-File-)", re.M
)
_MARKS = b"-----BEGIN", b"PuTTY-User-Key-File-"

_RECORD = re.compile(
    rb'\{"facts of a run":|\{.{,60}"made by": "gcm-deploy|<!DOCTYPE html>.{,80}"gcm-deploy">', re.S
)
"""What --record, --trace and --report write begins so."""


def is_credential(path: str) -> bool:
    """Tell whether a file is the credential of a lab, whatever its name; raises OSError."""
    return _CREDENTIAL.search(_beginning(path)) is not None


def secret_in(path: str, inside: str) -> str:
    """Return which secret a file is, as the end of a sentence about it, or nothing.

    `inside` is its path in what is copied; the names on the way there count too, and for a link
    those of its target. What cannot be read has no secrets to copy.
    """
    real = os.path.realpath(path) if os.path.islink(path) else inside
    for name in (*inside.split("/"), *real.split("/")):
        plain = name.casefold()
        if plain in SECRET_NAMES or plain.startswith(".env.") or plain.endswith(_ENDINGS):
            return "has a name for secrets"
    with suppress(OSError):
        found = _beginning(path)
        if _CREDENTIAL.search(found):
            return "is the credential of a lab"
        if _KEY.search(found):
            return "is a private key"
    return ""


def is_record(path: str) -> bool:
    """Tell whether a file was written by a run about itself, and is no input of the next one."""
    with suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return _RECORD.match(file.read(256)) is not None
    return False


def spread(path: str, name: str, above: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield what is in a folder, links followed: names to be copied to, and paths.

    Raises OSError for what cannot be read, and for a folder that contains itself.
    """
    real = os.path.realpath(path)
    if real in above:
        raise OSError(f"{path} leads back to {real}, a folder it is in")
    yield name, path
    if not os.path.isdir(path):
        return
    for inner in sorted(os.listdir(path)):
        yield from spread(os.path.join(path, inner), f"{name}/{inner}", (*above, real))


def _beginning(path: str) -> bytes:
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        found = file.read(MOST_READ)
    return found if any(one in found for one in _MARKS) else b""
