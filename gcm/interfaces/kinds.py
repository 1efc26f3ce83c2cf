"""The role, contingency and cardinality of an interface."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Whether calls arrive or leave through the interface, and on which side of the component."""

    CLIENT = "client"
    SERVER = "server"
    INTERNAL_CLIENT = "internal-client"
    INTERNAL_SERVER = "internal-server"

    @property
    def is_client(self) -> bool:
        """Whether calls leave through the interface."""
        return self in (Role.CLIENT, Role.INTERNAL_CLIENT)

    @property
    def is_server(self) -> bool:
        """Whether calls arrive at the interface."""
        return self in (Role.SERVER, Role.INTERNAL_SERVER)

    @property
    def is_internal(self) -> bool:
        """Whether the interface lies on the inner face of a composite."""
        return self in (Role.INTERNAL_CLIENT, Role.INTERNAL_SERVER)


class Contingency(StrEnum):
    """Whether a component can work without the interface."""

    MANDATORY = "mandatory"
    OPTIONAL = "optional"


class Cardinality(StrEnum):
    """How many interfaces of the type there are, and how many partners one call meets."""

    SINGLETON = "singleton"
    COLLECTION = "collection"
    MULTICAST = "multicast"
    GATHERCAST = "gathercast"
