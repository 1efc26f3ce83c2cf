"""A credential: one file with a private key, its certificate and that of the lab's authority.

```
# gcm credential
# principal: peer:host7
# lab: ourlab
# supernodes: lab1:7700 lab2:7700
-----BEGIN PRIVATE KEY----- ...
-----BEGIN CERTIFICATE----- ...        of the holder
-----BEGIN CERTIFICATE----- ...        of the authority
```

The lines at the top are for people, and for a peer that has no supernodes in its configuration.
Who somebody is counts by the certificate alone.
"""

from __future__ import annotations

import datetime
import hashlib
import os
import ssl
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gcm.records import dataclass
from runtime.peers.errors import PeerError, of_file
from runtime.peers.model import Address, MemberRole, Principal
from runtime.transport.certificate import library

TITLE = "# gcm credential"
_BEGIN = "-----BEGIN CERTIFICATE-----"
_GROUP = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True)
class Header:
    """What the first lines of a credential say."""

    principal: Principal
    lab: str
    supernodes: tuple[Address, ...] = ()

    def __str__(self) -> str:
        """Return the lines."""
        return (
            f"{TITLE}\n# principal: {self.principal}\n# lab: {self.lab}\n"
            f"# supernodes: {' '.join(map(str, self.supernodes))}\n"
        )


@dataclass(frozen=True, slots=True)
class Credential:
    """What proves to members of a lab who somebody is. `pem` has the key: never show or log it."""

    header: Header
    pem: str
    place: str = ""
    """The file, for messages."""

    @property
    def principal(self) -> Principal:
        """Whose it is."""
        return self.header.principal

    @property
    def own(self) -> str:
        """The key and the certificate of the holder, as PEM."""
        return _BEGIN.join(self.pem.split(_BEGIN)[:2])

    @property
    def authority(self) -> str:
        """The certificate of the authority, as PEM."""
        return _BEGIN + self.pem.split(_BEGIN)[2]

    @property
    def token(self) -> str:
        """The token that a member sends before any certificate is shown; untrusted clients lack it.

        It is a digest of the authority's certificate, which no connection shows.
        """
        shown = ssl.PEM_cert_to_DER_cert(self.authority.strip())
        return hashlib.sha256(b"knock" + shown).hexdigest()[:40]

    @property
    def lab_digest(self) -> str:
        """The digest that identifies the lab, also among labs of the same name; no secret."""
        return hashlib.sha256(b"lab" + self.token.encode()).hexdigest()[:12]

    @property
    def days_left(self) -> float:
        """The days until the credential expires."""
        _, until = certified_by(
            ssl.PEM_cert_to_DER_cert(self.own[self.own.index(_BEGIN) :].strip())
        )
        return (until - datetime.datetime.now(datetime.UTC)) / datetime.timedelta(days=1)

    def __repr__(self) -> str:
        """Return whose it is, without the key."""
        return f"<credential of {self.principal} in {self.header.lab}>"

    @classmethod
    def read(cls, file: Path, *, role: MemberRole | None = None) -> Credential:
        """Read a file; raises PeerError if it cannot be read, used, or is for another role."""
        place = str(file)
        cure = (
            "The lab's keeper makes one: gcm-peer lab invite NAME --peer (or --user);"
            " a user takes it with gcm-peer lab join FILE"
        )
        with of_file("the credential cannot be read", place, cure):
            mode, written = file.stat().st_mode, file.read_text(encoding="ascii")
        if mode & _GROUP:
            raise PeerError(
                "others on this machine can read the credential",
                place=place,
                cure=f"Make it readable by you alone: chmod 600 {place}",
            )
        return cls.parse(written, place, role)

    @classmethod
    def parse(cls, written: str, place: str = "", role: MemberRole | None = None) -> Credential:
        """Read the text of a file; raises PeerError."""
        lines = [line for line in written.splitlines() if line.startswith("# ")]
        header = dict(line[2:].split(": ", 1) for line in lines if ": " in line)
        if lines[:1] != [TITLE] or written.count(_BEGIN) != 2:  # own, authority's
            raise PeerError(
                "this is not the credential of a lab",
                place=place,
                cure="gcm-peer lab invite writes them",
            )
        found = cls(_header(header, place), written[written.index("-----") :], place)
        found._check(role)
        return found

    def _check(self, role: MemberRole | None) -> None:
        """Compare the certificate with what the lines say, and with the clock."""
        try:
            shown = ssl.PEM_cert_to_DER_cert(_BEGIN + self.pem.split(_BEGIN)[1].strip())
            certified, until = certified_by(shown)
        except (OSError, ValueError, PeerError) as error:
            raise PeerError(
                "the certificate in the credential is damaged", place=self.place, cause=str(error)
            ) from error
        if certified != self.principal:
            raise PeerError(
                f"the credential says it is that of {self.principal}, its certificate is that of "
                f"{certified}",
                place=self.place,
                cure="Nobody may edit it; ask for another one",
            )
        if role is not None and certified.role is not role:
            raise PeerError(
                f"this is the credential of {certified}, and one of a {role} is needed",
                place=self.place,
                cure=f"Make one with: gcm-peer lab invite {certified.name} --{role}",
            )
        if until < datetime.datetime.now(datetime.UTC):
            raise PeerError(
                f"the credential of {certified} was good until {until:%Y-%m-%d %H:%M} UTC",
                place=self.place,
                cure="If the clock of this machine is right, ask for another one",
            )

    def write(self, file: Path) -> None:
        """Write the file so that nobody else can ever read it; raises PeerError."""
        write_secret(file, f"{self.header}{self.pem}")


def write_secret(file: Path, text: str, *, may_replace: bool = True) -> None:
    """Write a file that only its owner can read, all or nothing; raises PeerError."""
    with of_file("cannot be written", file):
        # Others may write into this folder: what they have put there is not written to.
        descriptor, beside = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        try:
            with open(descriptor, "w", encoding="ascii") as opened:
                opened.write(text)
            (os.replace if may_replace else os.link)(beside, file)
        finally:
            with suppress(FileNotFoundError):  # it is the file now
                os.unlink(beside)


def certified_by(certificate: bytes) -> tuple[Principal, datetime.datetime]:
    """Return whom a certificate (DER) names, and until when; raises PeerError, ValueError."""
    x509 = library()[0]
    shown = x509.load_der_x509_certificate(certificate)
    names = [
        "".join(str(one.value) for one in shown.subject.get_attributes_for_oid(kind))
        for kind in (x509.oid.NameOID.ORGANIZATIONAL_UNIT_NAME, x509.oid.NameOID.COMMON_NAME)
    ]
    return Principal.parse(":".join(names)), shown.not_valid_after_utc


def _header(fields: Mapping[str, str], place: str) -> Header:
    try:
        nodes = tuple(Address.parse(one) for one in fields.get("supernodes", "").split())
        return Header(Principal.parse(fields.get("principal", "")), fields.get("lab", ""), nodes)
    except PeerError as error:
        error.place = place
        raise
