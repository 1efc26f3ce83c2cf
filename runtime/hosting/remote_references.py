"""The remote references of documents: what is outside of the assembly and can be called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from gcm.interfaces.interface import ServerEnd
from gcm.interfaces.types import InterfaceType
from gcm.suggestion import did_you_mean
from runtime.errors import GridError


def find_remote(reference: str, client: InterfaceType) -> ServerEnd:
    """Return what a client interface is bound to by a reference such as `pyro:name@host:port`.

    Nothing is called yet.

    Raises:
        GridError: it is no such reference.
        TransportError: what is behind its scheme is no address.
    """
    scheme, _, rest = reference.partition(":")
    find = SCHEMES.get(scheme.lower())
    if find is None:
        raise GridError(
            f"nobody knows how to reach '{reference}'",
            place=client.name,
            cure=did_you_mean(scheme, SCHEMES)
            or "Known are Pyro5 objects: pyro:name@host:port, or pyroname:name with a name server",
        )
    return find(rest, client)


def _pyro(address: str, client: InterfaceType, scheme: str = "PYRO") -> ServerEnd:
    from runtime.hosting.exposing import PyroObject  # only who calls outside needs Pyro5

    return PyroObject(f"{scheme}:{address}", client.signature)


def _pyro_name(address: str, client: InterfaceType) -> ServerEnd:
    return _pyro(address, client, "PYRONAME")


SCHEMES: Mapping[str, Callable[[str, InterfaceType], ServerEnd]] = MappingProxyType(
    {"pyro": _pyro, "pyroname": _pyro_name}
)
"""What each scheme of a reference means."""
