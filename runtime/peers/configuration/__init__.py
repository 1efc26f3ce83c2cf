"""The configuration of a peer: one file with documented defaults."""

from __future__ import annotations

from runtime.peers.configuration.folder import PeerFolder, user_credential, user_folder
from runtime.peers.configuration.reading import PeerConfiguration, read, read_text
from runtime.peers.configuration.settings import SETTINGS, Setting, reference, template

__all__ = [
    "SETTINGS",
    "PeerConfiguration",
    "PeerFolder",
    "Setting",
    "read",
    "read_text",
    "reference",
    "template",
    "user_credential",
    "user_folder",
]
