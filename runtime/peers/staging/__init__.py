"""Files of programs at peers: a cache by content, and plans that bring one to many hosts."""

from runtime.peers.staging.broadcast import Broadcast, Fetch, Push, Shape
from runtime.peers.staging.cache import ContentCache, path_in
from runtime.peers.staging.delivery import Receiver, StagedContent, deliver
from runtime.peers.staging.fetching import ContentSource, OpenSource, fetch
from runtime.peers.staging.service import StagingService

__all__ = [
    "Broadcast",
    "ContentCache",
    "ContentSource",
    "Fetch",
    "OpenSource",
    "Push",
    "Receiver",
    "Shape",
    "StagedContent",
    "StagingService",
    "deliver",
    "fetch",
    "path_in",
]
