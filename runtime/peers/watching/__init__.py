"""The lab as people look at it: in a terminal, and as a page in a browser."""

from runtime.peers.watching.asking import LabWatcher
from runtime.peers.watching.page import page
from runtime.peers.watching.server import PageServer
from runtime.peers.watching.view import LabView, PeerLine, RunLine, view_of

__all__ = ["LabView", "LabWatcher", "PageServer", "PeerLine", "RunLine", "page", "view_of"]
