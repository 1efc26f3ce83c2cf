"""The authority of a lab: a folder of one user, which makes the credentials of all others.

```
FOLDER/authority.pem   the key and the certificate of the authority; who has it, has the lab
FOLDER/supernodes      where supernodes are; goes into each credential
FOLDER/invited         a line for each credential: when, for whom, until when
```
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcm.records import dataclass
from runtime.peers.credentials.credential import Credential, Header, library, write_secret
from runtime.peers.errors import PeerError
from runtime.peers.model import Address, Principal

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

LIFE_OF_LAB = datetime.timedelta(days=3650)
DAYS = 365
"""For how long a credential is good if nobody says otherwise."""

_LEEWAY = datetime.timedelta(days=1)  # clocks of hosts differ
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)
KEY, SUPERNODES, INVITED = "authority.pem", "supernodes", "invited"


@dataclass(frozen=True, slots=True)
class Invited:
    """One credential that was made."""

    principal: str
    made: str
    until: str


class Authority:
    """What makes credentials; the folder is that of one user and of nobody else."""

    def __init__(self, folder: Path, key: EllipticCurvePrivateKey, shown: x509.Certificate) -> None:
        self.folder = folder
        self._key = key
        self._shown = shown

    @property
    def lab(self) -> str:
        """The name of the lab."""
        return str(next(iter(self._shown.subject)).value)

    @classmethod
    def create(
        cls, lab: str, folder: Path, now: datetime.datetime, supernodes: Sequence[Address] = ()
    ) -> Authority:
        """Make a lab; raises PeerError if the folder has one, or cannot be written."""
        if not _NAME.fullmatch(lab):
            raise PeerError(
                f"{lab!r} cannot be the name of a lab", cure="Use letters, digits, '.', '_', '-'"
            )
        x509, ec, _ = library()
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _named(lab)
        shown = (
            _certificate(subject, subject, key.public_key(), now, LIFE_OF_LAB)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(is_authority=True), critical=True)
            .sign(key, _hash())
        )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise PeerError("cannot be made", place=str(folder), cause=str(error)) from error
        if (folder / KEY).exists():
            raise PeerError(
                "there is a lab already",
                place=str(folder),
                cure="Invite with it: gcm-peer lab invite NAME --user, or choose another name",
            )
        write_secret(folder / SUPERNODES, "".join(f"{one}\n" for one in supernodes))
        write_secret(folder / KEY, _private(key) + _public(shown), may_replace=False)
        return cls(folder, key, shown)

    @classmethod
    def open(cls, folder: Path) -> Authority:
        """Read a lab; raises PeerError."""
        x509, ec, serialization = library()
        try:
            pem = (folder / KEY).read_bytes()
            key = serialization.load_pem_private_key(pem, None)
            shown = x509.load_pem_x509_certificate(pem[pem.index(b"-----BEGIN CERT") :])
        except (OSError, ValueError) as error:
            raise PeerError(
                "the authority of a lab cannot be read",
                place=str(folder / KEY),
                cause=str(error),
                cure="Make a lab with: gcm-peer lab create NAME",
            ) from error
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise PeerError("the key is not that of a lab", place=str(folder / KEY))
        return cls(folder, key, shown)

    @property
    def supernodes(self) -> tuple[Address, ...]:
        """Where supernodes are; raises PeerError."""
        file = self.folder / SUPERNODES
        try:
            return tuple(Address.parse(one) for one in file.read_text("ascii").split())
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError) as error:
            raise PeerError("cannot be read", place=str(file), cause=str(error)) from error

    def invite(
        self, principal: Principal, now: datetime.datetime, *, days: int = DAYS
    ) -> Credential:
        """Return a new credential, and note in the folder that it was made."""
        x509, ec, _ = library()
        oid = x509.oid
        key = ec.generate_private_key(ec.SECP256R1())
        life = datetime.timedelta(days=days)
        both = [oid.ExtendedKeyUsageOID.CLIENT_AUTH, oid.ExtendedKeyUsageOID.SERVER_AUTH]
        subject = _named(principal.name, str(principal.role))
        shown = (
            _certificate(subject, self._shown.subject, key.public_key(), now, life)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(is_authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both), critical=False)
            .sign(self._key, _hash())
        )
        header = Header(principal, self.lab, self.supernodes)
        made = Credential(header, _private(key) + _public(shown) + _public(self._shown))
        line = f"{now:%Y-%m-%dT%H:%M:%SZ} {principal} {now + life:%Y-%m-%d}\n"
        try:
            with (self.folder / INVITED).open("a", encoding="ascii") as opened:
                opened.write(line)
        except OSError as error:
            raise PeerError(
                "cannot be written", place=str(self.folder / INVITED), cause=str(error)
            ) from error
        return made

    def invited(self) -> list[Invited]:
        """Return the credentials that were made."""
        try:
            lines = (self.folder / INVITED).read_text(encoding="ascii").splitlines()
        except FileNotFoundError:
            return []
        words = [line.split() for line in lines]
        return [Invited(who, made, until) for made, who, until in words]


def _named(name: str, unit: str = "") -> Any:
    x509, *_ = library()
    names = [x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)]
    if unit:
        names.append(x509.NameAttribute(x509.oid.NameOID.ORGANIZATIONAL_UNIT_NAME, unit))
    return x509.Name(names)


def _certificate(
    subject: Any, issuer: Any, key: Any, now: datetime.datetime, life: datetime.timedelta
) -> Any:
    x509, *_ = library()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LEEWAY)
        .not_valid_after(now + life)
    )


def _usage(*, is_authority: bool) -> Any:
    x509, *_ = library()
    names = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement "
        "key_cert_sign crl_sign encipher_only decipher_only"
    )
    used = "key_cert_sign" if is_authority else "digital_signature"
    return x509.KeyUsage(**{name: name == used for name in names.split()})


def _hash() -> Any:
    from cryptography.hazmat.primitives import hashes

    return hashes.SHA256()


def _private(key: Any) -> str:
    *_, serialization = library()
    pem: bytes = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return pem.decode()


def _public(shown: Any) -> str:
    *_, serialization = library()
    pem: bytes = shown.public_bytes(serialization.Encoding.PEM)
    return pem.decode()
