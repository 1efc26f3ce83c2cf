"""The lab as people look at it: in a terminal, and as a page in a browser."""

from runtime.peers.watching.asking import LabWatcher
from runtime.peers.watching.view import LabView, PeerLine, RunLine, view_of

__all__ = ["LabView", "LabWatcher", "PeerLine", "RunLine", "view_of"]
