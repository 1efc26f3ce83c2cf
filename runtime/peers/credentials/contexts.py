"""The two TLS contexts of a member of a lab: for connections it takes, and for those it opens.

A stranger learns nothing: before the listener shows its certificate it wants to hear a word that
only members know (as the name that TLS clients send first), and after that it wants a certificate
of the lab.
"""

from __future__ import annotations

import ssl

from runtime.peers.credentials.credential import Credential
from runtime.peers.errors import PeerError
from runtime.transport.tls import context_of


def contexts(credential: Credential) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the context of a listener and that of a dialler; raises PeerError."""
    try:
        own = credential.own.encode()
        listening = context_of(own, credential.authority, dialled=False)
        dialling = context_of(own, credential.authority, dialled=True)
    except (OSError, ValueError) as error:
        raise PeerError(
            "the credential cannot be used", place=credential.place, cause=str(error)
        ) from error
    token = credential.token

    def check_name(_: object, name: str | None, __: object) -> int | None:
        return None if name == token else ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

    listening.sni_callback = check_name
    return listening, dialling
