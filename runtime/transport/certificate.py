"""The certificate of a run: made once by the launcher, the same for all who belong to it."""

from __future__ import annotations

import datetime

from runtime.transport.errors import TransportError

LIFE = datetime.timedelta(days=30)
"""How long connections can be opened with it; those that are open stay."""

_LEEWAY = datetime.timedelta(days=1)  # clocks of hosts differ


def make_certificate(name: str, now: datetime.datetime, life: datetime.timedelta = LIFE) -> bytes:
    """Return a private key and a certificate for it, both in PEM, one behind the other.

    A process that has them can prove to belong to the run, so they travel as its secret does.

    Raises:
        TransportError: what makes them is not installed.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID
    except ImportError as error:
        raise TransportError(
            "connections between hosts cannot be encrypted without the package cryptography",
            cause=str(error),
            cure="Install it here with: pip install 'gcm-grid[mpi]', or say "
            '<grid encryption="none"> where the network can be trusted',
        ) from error
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LEEWAY)
        .not_valid_after(now + life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private + certificate.public_bytes(serialization.Encoding.PEM)
