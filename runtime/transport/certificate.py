"""Certificates: an authority, and what it issues to members that know each other by it.

A run has an authority in the memory of its launcher, a lab has one in a folder of its keeper. The
key of an authority goes nowhere else; each member gets a key of its own.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any, Self

from runtime.transport.errors import TransportError
from runtime.transport.keys import MEMBER

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

LIFE = datetime.timedelta(days=30)
"""How long connections of a run can be opened with its certificates; those that are open stay."""

_LEEWAY = datetime.timedelta(days=1)  # clocks of hosts differ
_BEGIN = b"-----BEGIN CERT"


class CertificateAuthority:
    """Issues certificates; whoever trusts its own one can tell who shows one of these.

    >>> run = CertificateAuthority.create("a run", now)                       # doctest: +SKIP
    >>> Credentials(keys, "0:1", run.member("front-end 0:1", now))            # doctest: +SKIP
    """

    def __init__(self, key: EllipticCurvePrivateKey, shown: x509.Certificate) -> None:
        self._key = key
        self._shown = shown

    @classmethod
    def create(cls, name: str, now: datetime.datetime, life: datetime.timedelta = LIFE) -> Self:
        """Make one with a new key; raises TransportError if what makes them is not installed."""
        x509, ec, _ = library()
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _named(name)
        shown = (
            _certificate(subject, subject, key.public_key(), now, life)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(is_authority=True), critical=True)
        )
        return cls(key, shown.sign(key, _hash()))

    @classmethod
    def read(cls, pem: bytes) -> Self:
        """Return the one that `pem` tells; raises ValueError, TransportError."""
        x509, ec, serialization = library()
        key = serialization.load_pem_private_key(pem, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the key is not that of an authority")
        return cls(key, x509.load_pem_x509_certificate(pem[pem.index(_BEGIN) :]))

    @property
    def name(self) -> str:
        """What it is called in its certificate."""
        return str(next(iter(self._shown.subject)).value)

    @property
    def pem(self) -> str:
        """Its key and its certificate, for the file of its keeper."""
        return _private(self._key) + self.certificate

    @property
    def certificate(self) -> str:
        """What others trust, as PEM."""
        return _public(self._shown)

    def issue(
        self, name: str, now: datetime.datetime, life: datetime.timedelta, *, unit: str = "",
        member: str = "",
    ) -> str:  # fmt: skip
        """Return a new key and a certificate for it, as PEM.

        The certificate has a name and a unit for people, or that of a member of a run.
        """
        x509, ec, _ = library()
        key, oid = ec.generate_private_key(ec.SECP256R1()), x509.oid.ExtendedKeyUsageOID
        both = [oid.CLIENT_AUTH, oid.SERVER_AUTH]
        subject = _named(name, unit)
        shown = (
            _certificate(subject, self._shown.subject, key.public_key(), now, life)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(is_authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both), critical=False)
        )
        if member:  # a common name has 64 characters at most
            uri = x509.UniformResourceIdentifier(MEMBER + member.encode().hex())
            shown = shown.add_extension(x509.SubjectAlternativeName([uri]), critical=False)
        return _private(key) + _public(shown.sign(self._key, _hash()))

    def member(self, name: str, now: datetime.datetime, life: datetime.timedelta = LIFE) -> bytes:
        """Return all that a member of a run shows and trusts.

        That is a key, a certificate for that name, and the certificate of the authority, as PEM.
        """
        return (self.issue("member of a run", now, life, member=name) + self.certificate).encode()


def library() -> tuple[Any, Any, Any]:
    """Return the modules that read and make certificates; raises TransportError without them."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise TransportError(
            "certificates need the package cryptography",
            cause=str(error),
            cure="Install it here with: pip install 'gcm-grid[mpi]'; between hosts of a network "
            'that can be trusted, <grid encryption="none"> does without',
        ) from error
    return x509, ec, serialization


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
