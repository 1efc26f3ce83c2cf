"""Credentials of a lab: its authority, invitations, and what connections make of them."""

from __future__ import annotations

from runtime.peers.credentials.authority import Authority, Invited
from runtime.peers.credentials.contexts import contexts
from runtime.peers.credentials.credential import Credential, Header

__all__ = ["Authority", "Credential", "Header", "Invited", "contexts"]
