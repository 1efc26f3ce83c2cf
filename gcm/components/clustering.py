"""Clustering components: one node of a hierarchy, between those above it and those below it."""

from __future__ import annotations

from typing import Any

from gcm.interfaces.types import Cardinality, ComponentType, Contingency, InterfaceType, Role

SRV, UP, DOWN = "srv", "up", "down"


class ClusteringContent:
    """The base class of the content of a clustering component.

    `up` and `down` are the stubs towards the next level and towards the members; each is None
    while nothing is bound. A subclass implements the operations of `srv`: there the arguments of
    all bound clients come as lists, but for operations marked `one_by_one`.
    """

    up: Any = None
    down: Any = None


def clustering_type(
    srv: type[Any], up: type[Any] | None = None, down: type[Any] | None = None
) -> ComponentType:
    """Return the type of a clustering component.

    `srv` is a gathercast server interface; `up` and `down` are multicast clients, both optional,
    because the top of a hierarchy has nobody above and an empty cluster nobody below. They have
    the signature of `srv` unless said otherwise; as multicast calls they return lists or nothing.

    >>> clustering_type(Relay).find("down").cardinality    # doctest: +SKIP
    <Cardinality.MULTICAST: 'multicast'>
    """
    optional, multicast = Contingency.OPTIONAL, Cardinality.MULTICAST
    return ComponentType(
        (
            InterfaceType(SRV, srv, Role.SERVER, cardinality=Cardinality.GATHERCAST),
            InterfaceType(UP, up or srv, Role.CLIENT, optional, multicast),
            InterfaceType(DOWN, down or srv, Role.CLIENT, optional, multicast),
        )
    )
