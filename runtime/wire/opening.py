"""The post of this rank, made of what its link to the front-end knows."""

from __future__ import annotations

import socket

from runtime.engine.everybody import everybody
from runtime.engine.rank_link import RankLink
from runtime.wire.connecting import Connector, DirectConnector
from runtime.wire.directory import Directory, Party
from runtime.wire.messages import Receiver
from runtime.wire.post import Post


def open_post(link: RankLink, receiver: Receiver, connector: Connector | None = None) -> Post:
    """Return the post of a rank; from now on it answers ranks that dial this one.

    `connector` opens connections to others, directly if nothing else is said. The first call takes
    the listening sockets of the rank, so there is one post per process.
    """
    known = everybody(link)
    directory = directory_of(link)
    doors = [socket.socket(fileno=door.detach()) for door in link.doors]
    link.doors.clear()
    return Post(
        known.index,
        directory,
        receiver,
        connector or DirectConnector(known.index, directory, link.credentials),
        doors=doors,
        credentials=link.credentials,
    )


def directory_of(link: RankLink) -> Directory:
    """Return who is where, as far as a rank was told."""
    return Directory(
        tuple(
            Party(str(one.identifier), one.host, one.machine, one.addresses)
            for one in everybody(link).residents
        )
    )
