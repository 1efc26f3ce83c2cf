"""`python -m benchmarks.encryption_cost`: the processor time of encryption, for each byte.

Messages go there and back between two processes over the loopback, and the processor time of both
counts: of plain sockets and those of Python's `ssl`, of our connections, plain and encrypted. The
bare cost of the cipher is that of AES-256-GCM in memory, by `cryptography`, once to encrypt each
byte and once to decrypt it; TLS in memory makes and opens records by `ssl`, whose OpenSSL may be
another one. All take turns; what is printed are medians, with the least and the greatest.
"""

from __future__ import annotations

import argparse
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from benchmarks.echoes import contract
from benchmarks.echoes.members import CERTIFICATE_FILE, context, write_certificate
from benchmarks.grid.networks import ROOT
from benchmarks.wire_measure import LOOPBACK, free_port

MIB = 1 << 20
WAYS = ("tcp", "ssl", "post", "tls")
CIPHER, MEMORY = "cipher", "memory"
RECORD = 16384
AT_ONCE = 8 * RECORD


def processor_time(process: int) -> float:
    """Return the processor time that a process has had."""
    return time.clock_gettime((~process << 3) | 2)  # as clock_getcpuclockid has it


def carried(way: str, size: int, times: int) -> float:
    """Return the seconds of both processes for each byte that goes one way."""
    port = str(free_port())
    command = [sys.executable, "-m", "benchmarks.echoes", "serve", way, LOOPBACK, port]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as server:
        try:
            assert server.stdout is not None
            server.stdout.readline()
            with contract.way(way).client(way, LOOPBACK, int(port)) as rounds:
                rounds(size, 3)
                begun = time.process_time() + processor_time(server.pid)
                rounds(size, times)
                taken = time.process_time() + processor_time(server.pid) - begun
        finally:
            server.kill()
    return taken / (2 * size * times)


def ciphered(size: int, times: int) -> float:
    """Return the seconds in which the cipher encrypts a byte and decrypts it."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    cipher = Cipher(algorithms.AES(bytes(32)), modes.GCM(bytes(12)))
    data, room = memoryview(bytearray(RECORD)), bytearray(RECORD + 16)
    begun = time.process_time()
    for way in (cipher.encryptor(), cipher.decryptor()):
        for _ in range(2 * size * times // RECORD):
            way.update_into(data, room)
    return (time.process_time() - begun) / (2 * size * times)


def recorded(size: int, times: int) -> float:
    """Return the seconds in which the library makes a record of a byte and opens it."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    sender = context(serves=False).wrap_bio(back, there)
    receiver = context(serves=True).wrap_bio(there, back, server_side=True)
    for _ in range(3):
        for end in (sender, receiver):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    data, room = memoryview(bytes(AT_ONCE)), bytearray(RECORD)
    begun = time.process_time()
    for _ in range(2 * size * times // AT_ONCE):
        sender.write(data)
        for _ in range(AT_ONCE // RECORD):
            receiver.read(RECORD, room)
    return (time.process_time() - begun) / (2 * size * times)


def row(name: str, seconds: Sequence[float]) -> str:
    """Return a line of the table: nanoseconds for each KiB, or a ratio."""
    low, middle, high = min(seconds), median(seconds), max(seconds)
    return f"| {name} | {middle:.3g} | {low:.3g}-{high:.3g} |"


def main() -> None:
    """Measure in turns and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.encryption_cost",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", type=int, default=MIB, metavar="BYTES", help="of a message")
    parser.add_argument("--times", type=int, default=200, metavar="N", help="round trips")
    parser.add_argument("--turns", type=int, default=7, metavar="N", help="how many turns (7)")
    options = parser.parse_args()
    found: dict[str, list[float]] = {way: [] for way in (*WAYS, CIPHER, MEMORY)}
    with tempfile.TemporaryDirectory(prefix="gcm-bench-") as folder:
        os.environ[CERTIFICATE_FILE] = f"{folder}/certificate.pem"
        write_certificate(Path(os.environ[CERTIFICATE_FILE]))
        for _ in range(options.turns):
            for way in WAYS:
                found[way].append(carried(way, options.size, options.times))
            found[CIPHER].append(ciphered(options.size, options.times))
            found[MEMORY].append(recorded(options.size, options.times))
    print(f"load {os.getloadavg()[0]:.1f}\n\n| ns for each KiB | median | all |\n|---|---|---|")
    for way in WAYS:
        print(row(contract.WAYS[way][0], [one * 1e9 * 1024 for one in found[way]]))
    for what, name in ((CIPHER, "the cipher alone"), (MEMORY, "TLS in memory")):
        print(row(name, [one * 1e9 * 1024 for one in found[what]]))
    for plain, encrypted in (("tcp", "ssl"), ("post", "tls")):
        turns = list(zip(found[plain], found[encrypted], found[CIPHER], strict=True))
        name = contract.WAYS[encrypted][0]
        print(row(f"{name} / plain", [full / bare for bare, full, _ in turns]))
        print(row(f"({name} - plain) / cipher", [(full - bare) / one for bare, full, one in turns]))
        print(row(f"{name} / (plain + cipher)", [full / (bare + one) for bare, full, one in turns]))


if __name__ == "__main__":
    main()
