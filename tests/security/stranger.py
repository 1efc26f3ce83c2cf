"""A program of its own that is no member of a run and tries to get in; tests start it.

It reads addresses, handshakes that were recorded, and where a trap would leave its mark, as one
line of JSON, and writes what it got at each address with each attempt.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import random
import socket
import sys
from collections.abc import Callable
from functools import partial

from Pyro5.api import Proxy

from runtime.transport.credentials import NONCE, NUMBER_OF_MEMBER, PROOF_OF_MEMBER, Credentials
from runtime.transport.errors import TransportError
from runtime.transport.frames import HEAD, MARK
from runtime.transport.lean import dial
from runtime.transport.messages import CALL
from runtime.transport.pyro_messages import (
    CONNECT,
    INVOKE,
    JSON,
    MARSHAL,
    MSGPACK,
    SERPENT,
    MessageReader,
    PyroMessage,
)
from runtime.transport.transports import socket_for

PATIENCE = 3.0
NAMES = ("Pyro.Daemon", "Pyro.NameServer", "gcm.run", "0:0", "grid", "/grid", "control", "launcher")


class Trap:
    """Leaves a folder where it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (self.path,)


def answer(said: tuple[bytes, ...], address: str) -> bytes:
    """Say something and return all that comes back until the other end hangs up, or is silent."""
    made, where = socket_for(address)
    received = b""
    with contextlib.closing(made), contextlib.suppress(OSError):
        made.settimeout(PATIENCE)
        made.connect(where)
        for part in said:
            made.sendall(part)
            if part is not said[-1]:
                received += made.recv(4096)
        made.shutdown(socket.SHUT_WR)
        while data := made.recv(4096):
            received += data
    return received


def as_client(name: str, address: str) -> bytes:
    """Try an object as an ordinary client of Pyro5 does."""
    where = f"./u:{address.removeprefix('unix:')}" if address.startswith("unix:") else address
    try:
        with Proxy(f"PYRO:{name}@{where}") as proxy:
            proxy._pyroTimeout = PATIENCE
            proxy._pyroBind()
            return b"invoked: " + repr(proxy.ping()).encode()
    except Exception as error:  # whatever a client makes of it
        return f"refused: {error}".encode()


def as_member(known: Credentials, address: str) -> bytes:
    """Try to be a member with a secret of one's own."""
    try:
        made, peer, _ = dial(address, known, PATIENCE)
    except TransportError as error:
        return f"refused: {error}".encode()
    made.close()
    return b"invoked: " + peer.encode()


def attempts(told: dict[str, str], trap: str) -> dict[str, Callable[[str], bytes]]:
    """Return what to try at each address."""
    bomb = pickle.dumps(Trap(trap))
    number = PyroMessage(CONNECT, b"{}", {NUMBER_OF_MEMBER: os.urandom(NONCE)}).joined()
    found: dict[str, Callable[[str], bytes]] = {
        f"Pyro5 {name}": partial(as_client, name) for name in NAMES
    }
    serializers = {"serpent": SERPENT, "json": JSON, "marshal": MARSHAL, "msgpack": MSGPACK}
    said = {
        "random bytes": (random.Random(3).randbytes(5000),),
        "a pickle": (bomb,),
        "a frame": (HEAD.pack(MARK, CALL, 2, 1) + (5).to_bytes(8, "big") * 2 + bomb,),
        "http": (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",),
        "a number": (number,),
        "a wrong proof": (number, PyroMessage(INVOKE, b"", {PROOF_OF_MEMBER: bytes(40)}).joined()),
    }
    for name, serializer in serializers.items():
        hello = PyroMessage(CONNECT, bomb, serializer=serializer).joined()
        call = PyroMessage(INVOKE, bomb, serializer=serializer).joined()
        said[f"a bomb in {name}"] = (hello + call,)
        said[f"a bomb in {name} behind a number"] = (number, call)
    for name, parts in told.items():
        whole = bytes.fromhex(parts)
        reader = MessageReader(len(whole))
        reader.feed(whole)
        reader.take()
        first = len(whole) - len(reader.rest)
        said[f"a replay of {name}"] = (whole,)
        said[f"a replay of {name} in turn"] = (whole[:first], whole[first:])
    for name, words in said.items():
        found[name] = partial(answer, words)
    for shown in ("", told_certificate()):
        known = Credentials(os.urandom(32), "0:0:0", shown.encode(), trusts_loopback=False)
        found[f"a secret of its own, {'TLS' if shown else 'plain'}"] = partial(as_member, known)
    return found


def told_certificate() -> str:
    """Return a certificate of one's own, with the name that those of runs have."""
    import datetime

    from runtime.transport.certificate import CertificateAuthority

    now = datetime.datetime.now(datetime.UTC)
    return CertificateAuthority.create("gcm run", now).member("ranks 0:0", now).decode()


def main() -> None:
    """Try everything everywhere."""
    told = json.loads(sys.stdin.readline())
    found = attempts(told["recorded"], told["trap"])
    got = {
        address: {name: attempt(address).hex() for name, attempt in found.items()}
        for address in told["addresses"]
    }
    print(json.dumps(got), flush=True)


if __name__ == "__main__":
    main()
