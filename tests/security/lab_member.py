"""A member of a lab who keeps to nothing: speaks TLS with a credential, and none of our code.

python lab_member.py CREDENTIAL PORT lists|announces|words
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import ssl
import struct
import sys
import tempfile
from contextlib import suppress

MANY = 31 << 20


def connection(file: str, port: int) -> ssl.SSLSocket:
    """Return a connection over which a daemon of the lab has said who it is."""
    with open(file) as opened:
        text = opened.read()
    pem = text[text.index("-----") :]
    authority = re.findall(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", pem, re.S)[1]
    der = ssl.PEM_cert_to_DER_cert(authority)
    context = ssl.create_default_context(cadata=authority)
    context.check_hostname = False
    with tempfile.NamedTemporaryFile("w") as own:
        own.write(pem)
        own.flush()
        context.load_cert_chain(own.name)
    word = hashlib.sha256(b"knock" + der).hexdigest()[:40]
    made = context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname=word)
    made.settimeout(60)
    assert made.recv(1 << 16).startswith(b"GF\x01")
    return made


def call(made: ssl.SSLSocket, service: str, operation: str, *arguments: object) -> None:
    """Call something, and take the answer."""
    parts = json.dumps([service, operation]).encode(), json.dumps(arguments).encode()
    made.sendall(head(*map(len, parts)) + b"".join(parts))
    made.recv(1 << 16)


def head(*lengths: int) -> bytes:
    """Return the head of a call with parts of these lengths."""
    return struct.pack(f"!2sBHQ{len(lengths)}Q", b"GF", 2, len(lengths), 1, *lengths)


def send_lists(file: str, port: int) -> None:
    """Call with 31 MiB of empty lists, in the first part and in the second one."""
    lists = b"[" + b"[]," * (MANY // 3) + b"[]]"
    in_one = b'["membership","ping",' + lists + b"]"
    heading = b'["reservation","reserve"]'
    for message in (
        head(len(in_one)) + in_one,
        head(len(heading), len(lists)) + heading + lists,
    ):
        with connection(file, port) as made, suppress(OSError):
            made.sendall(message)
            made.recv(1)


def announce(file: str, port: int) -> None:
    """Announce 32 MiB over each of a hundred connections, and send one byte."""
    heading = b'["membership","ping"]'
    opened = [connection(file, port) for _ in range(100)]
    for number, made in enumerate(opened):
        with suppress(OSError):
            parts = (32 << 20,) if number % 2 else (len(heading), (32 << 20) - len(heading))
            made.sendall(head(*parts) + (b"[" if number % 2 else heading + b"["))
    print("sent", flush=True)
    input()


EVIL = "\x1b[2J\x1b]0;mine\x07\u202e\n2026-01-01 00:00:00,000 INFO forged"


def say(file: str, port: int) -> None:
    """Say what moves cursors and adds lines, wherever somebody listens."""
    with connection(file, port) as made:
        call(made, "reservation", "reserve", "user:alice", "ab" * 16, f"{EVIL}:{'ab' * 8}", 1, 60.0)
    with connection(file, port) as made:
        call(made, EVIL, EVIL, "user:alice")
    peer = file.replace("alice", "mallory")
    for address in (f"{EVIL}:7700".replace(" ", ""), "\x1b[31mred:7700"):
        with connection(peer, port) as made, suppress(OSError):
            row = [["peer:mallory", [address], [1, 1]], 1, 1, "alive", 0]
            call(made, "membership", "alive", "peer:mallory", row)


if __name__ == "__main__":
    attacks = {"lists": send_lists, "announces": announce, "words": say}
    attacks[sys.argv[3]](sys.argv[1], int(sys.argv[2]))
