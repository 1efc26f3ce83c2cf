"""Addresses of files of web servers, such as `https://example.org/data.csv#sha256=...`. Pure."""

from __future__ import annotations

import re

from gcm.records import dataclass

_BEGINNING = re.compile("https?://", re.IGNORECASE)
_ADDRESS = re.compile(
    r"(?P<url>https?://[^/?#@\s]+/(?:[^?#\s]*/)?(?P<name>[^/?#\s]+)(?:\?[^#\s]*)?)"
    r"(?:#sha256=(?P<digest>[0-9a-f]{64}))?",
    re.IGNORECASE | re.ASCII,
)
FORM = "https://HOST/PATH/FILE or http://HOST/PATH/FILE, and #sha256=64 HEX DIGITS behind it or not"


@dataclass(frozen=True, slots=True)
class WebAddress:
    """Where a file is, how it is called there, and its SHA-256 if that is known."""

    url: str
    name: str
    digest: str = ""

    @classmethod
    def parse(cls, written: str) -> WebAddress:
        """Read an address; raises ValueError.

        >>> WebAddress.parse("https://example.org/a/data.csv?raw=1").name
        'data.csv'
        """
        found = _ADDRESS.fullmatch(written)
        if found is None or found["name"] in (".", ".."):
            raise ValueError(f"'{written}' is not the address of a file, which is {FORM}")
        return cls(found["url"], found["name"], (found["digest"] or "").lower())

    def __str__(self) -> str:
        """Return it as it can be read again."""
        return f"{self.url}#sha256={self.digest}" if self.digest else self.url


def is_web_address(written: str) -> bool:
    """Tell whether somebody means a file of a web server.

    >>> is_web_address("HTTP://example.org"), is_web_address("http.py")
    (True, False)
    """
    return _BEGINNING.match(written) is not None
