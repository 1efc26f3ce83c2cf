"""The addresses that a rank binds and advertises to ranks of other clusters.

Its listeners cost nothing until they are used; `runtime.wire`, which accepts at them, is loaded by
programs that ask for the communicators.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from runtime.lazy_import import logger
from runtime.membership.run_directory import address_in
from runtime.transport.errors import TransportError
from runtime.transport.passage import PASSED, Passage, path_in
from runtime.transport.transports import UNIX, advertised, listen, use

if TYPE_CHECKING:
    from _socket import socket

_log = logger(__name__)

ON_MACHINE, EVERYWHERE = "127.0.0.1:0", "0.0.0.0:0"
"""Where a rank listens with TCP: for its own host, or for all that can connect to it."""

_MACHINE = "/proc/sys/kernel/random/boot_id"
_NETWORK = "/proc/self/ns/net"

AdvertisedAddresses = tuple[str, tuple[str, ...]]
"""The machine of a rank, and the addresses on it that others dial."""

NOT_ADVERTISED: AdvertisedAddresses = ("", ())


def open_listeners(
    run_directory: str, name: str, transports: Iterable[str]
) -> tuple[list[socket], AdvertisedAddresses]:
    """Bind a listener of each transport; return them with the addresses to advertise.

    A transport is `unix`, where to bind a port, a `Passage` as text, or a class of the user. `name`
    is that of the socket in the run directory. A rank that cannot listen has fewer addresses, or
    none; ranks that need one report that.
    """
    listeners: list[socket] = []
    addresses: list[str] = []
    for one in transports:
        passage = Passage.parse(one) if one.startswith(PASSED) else None
        where = passage.bind_address(name) if passage else bind_address(run_directory, name, one)
        try:
            if where.startswith((UNIX, PASSED)):
                with suppress(FileNotFoundError):
                    os.unlink(path_in(where))  # of a rank that was here before
            listener, found = listen(where)
        except (OSError, TransportError) as error:
            _log.warning("%s does not listen over %s: %s", name, one, error)
            continue
        listeners.append(listener)
        addresses += [passage.address(name)] if passage else advertised(found)
    return listeners, (this_machine() if listeners else "", tuple(addresses))


def bind_address(run_directory: str, name: str, transport: str) -> str:
    """Return what to bind for a transport; `name` is of who listens, unique in the directory."""
    if ":" in transport:  # a port
        return transport
    if f"{transport}:" == UNIX:
        return address_in(run_directory, name)
    return f"{transport}:{os.path.join(run_directory, f'{name}-{transport}')}"


def use_transports(named: Iterable[str], folder: str) -> None:
    """Learn the classes among the transports that a descriptor names; they lie in `folder`.

    They come from the user's own descriptor, in what the launcher tells a process first.

    Raises:
        TransportError: one cannot be imported, or does not fulfil `Transport`.
    """
    for name in named:
        if "." not in name or ":" in name:
            continue
        from runtime.machine.named_classes import CURE, fault_of, load  # only where one is named

        if folder not in sys.path:
            sys.path.append(folder)  # last: what lies there must not hide what is imported here
        try:
            found = load(name)
            if not (fault := fault_of("transport", found)):
                use(name, found())
        except Exception as error:  # whatever a class of a user raises
            fault = f"{type(error).__name__}: {error}"
        if fault:
            raise TransportError(
                f"the transport '{name}' cannot be used: {fault}", place=folder, cure=CURE
            )


def this_machine() -> str:
    """Return what processes have in common that can reach each other by Unix sockets."""
    try:
        with open(_MACHINE, encoding="utf-8") as file:
            return f"{file.read().strip()} {os.stat(_NETWORK).st_ino}"
    except OSError:
        return ""
