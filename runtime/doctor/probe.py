"""The program that runs on each examined host and answers questions about it.

It is sent as source, with the two modules that choose an `mpiexec`, and needs only the standard
library of Python 3.11. Each line of standard input
is a question, each line of standard output its answer, both in JSON. It ends when standard input
does.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import resource
import shutil
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata, util
from typing import Any, TypeVar

from runtime.launchers.mpiexec_choice import choose_mpiexec

_Result = TypeVar("_Result")

VERSIONS = ("numpy", "mpi4py")
IMPORT_TIMEOUT = 15.0
DIAL_TIMEOUT = 4.0
ANSWER_TIMEOUT = 10.0
"""Seconds for a name lookup, or a connection including it."""

_SIOCGIFFLAGS, _SIOCGIFADDR = 0x8913, 0x8915
_UP, _LOOPBACK = 0x1, 0x8
_NAME_LIMIT = 15
_LONGEST_VERSION = 2000

# Loads the MPI library without starting it.
_LIBRARY = (
    "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI;"
    " print(MPI.Get_library_version())"
)


def facts(asked: dict[str, Any]) -> dict[str, Any]:
    """Return facts about this host."""
    folders = [asked["folder"] or tempfile.gettempdir(), "/dev/shm"]
    names = [os.uname().nodename, *asked["names"]]
    nothing: list[str] = []
    library, fault = _library() if asked["library"] else ["", ""]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    addresses = _at_once([partial(_resolved, name) for name in names], nothing)
    return {
        "host": os.uname().nodename,
        "user": _user(),
        "python": sys.executable,
        "version": list(sys.version_info[:3]),
        "packages": {name: _version_of(name) for name in VERSIONS},
        "library": library,
        "library_fault": fault,
        **_starter(asked["mpiexec"]),
        "ssh": shutil.which("ssh") or "",
        "names": dict(zip(names, addresses, strict=True)),
        "interfaces": _interfaces(),
        "files": soft,
        "most_files": hard,
        "missing": [name for name in asked["modules"] if util.find_spec(name) is None],
        "is_managed": _is_managed(),
        "has_venv": util.find_spec("ensurepip") is not None,
        "folders": [_room_in(folder) for folder in folders],
    }


def clock(_: dict[str, Any]) -> float:
    """Return the time of day."""
    return time.time()


def listen(asked: dict[str, Any]) -> Any:
    """Listen at a port, 0 for any, and greet everybody who connects; return the port."""
    try:
        listener = socket.create_server(("0.0.0.0", asked["port"]))
    except OSError as error:
        return {"error": error.strerror or str(error)}
    threading.Thread(target=_greet, args=(listener, asked["word"].encode()), daemon=True).start()
    return {"port": listener.getsockname()[1]}


def dial(asked: dict[str, Any]) -> list[str]:
    """Try to connect to each address, and return the outcomes.

    An outcome is `open`, or an explanation that begins with `unresolved`, `refused`, `silent` or
    `other`.
    """
    word = asked["word"].encode()
    slow = "silent: the name service does not answer"
    return _at_once([partial(_dialled, host, port, word) for host, port in asked["to"]], slow)


def main() -> None:
    """Answer questions until there are no more."""
    answers: dict[str, Callable[[dict[str, Any]], Any]] = {
        "facts": facts, "clock": clock, "listen": listen, "dial": dial,
    }  # fmt: skip
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(answers[asked["do"]](asked)), flush=True)


def _at_once(calls: list[Callable[[], _Result]], slow: _Result) -> list[_Result]:
    """Make all calls in parallel, and return the results, `slow` for those that take too long."""
    results = [slow] * len(calls)

    def run(number: int) -> None:
        results[number] = calls[number]()

    threads = [
        threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(calls))
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + ANSWER_TIMEOUT
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    return list(results)


def _is_managed() -> bool:
    """Return whether pip refuses to install into this Python, or is not there."""
    if util.find_spec("pip") is None:
        return True
    marker = os.path.join(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED")
    return sys.prefix == sys.base_prefix and os.path.exists(marker)


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _version_of(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _library() -> list[str]:
    """Return the first line about the MPI library that mpi4py loads, and why it cannot load one."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _LIBRARY],
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=IMPORT_TIMEOUT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return ["", f"it was not loaded within {IMPORT_TIMEOUT:g} s"]
    lines = [line.strip() for line in done.stdout.replace("\0", "").splitlines() if line.strip()]
    if done.returncode == 0 and lines:
        return [" ".join(lines[0].split()), ""]
    return ["", (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]]


def _starter(name: str) -> dict[str, str]:
    """Return which `mpiexec` a run would take, why that one, and what it says of its version."""
    path, why = choose_mpiexec(name, {**os.environ, "PATH": _activated_path()})
    return {"mpiexec": path, "mpiexec_why": why, "mpiexec_version": _says(path) if path else ""}


def _says(program: str) -> str:
    """Return what a program says of its version."""
    try:
        done = subprocess.run(
            [program, "--version"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=IMPORT_TIMEOUT, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[:_LONGEST_VERSION]


def _activated_path() -> str:
    """Return the search path as if the environment of this Python was activated."""
    folder = os.path.dirname(sys.executable)
    above = os.path.dirname(folder)
    path = os.environ.get("PATH", os.defpath)
    if any(os.path.exists(os.path.join(above, one)) for one in ("pyvenv.cfg", "conda-meta")):
        path = path if folder in path.split(os.pathsep) else f"{folder}{os.pathsep}{path}"
    return path


def _resolved(name: str) -> list[str]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return sorted({str(one[4][0]) for one in found})


def _interfaces() -> list[list[str]]:
    """Return name and IPv4 address of each interface that is up, without the loopback."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name[:_NAME_LIMIT].encode())
            try:
                answer = fcntl.ioctl(asked, _SIOCGIFFLAGS, request)
                (flags,) = struct.unpack("H", answer[16:18])
                address = fcntl.ioctl(asked, _SIOCGIFADDR, request)[20:24]
            except OSError:
                continue  # it has no address
            if flags & _UP and not flags & _LOOPBACK:
                found.append([name, socket.inet_ntoa(address)])
    return found


def _room_in(folder: str) -> dict[str, Any]:
    """Return how many bytes are free in a folder, or why it cannot be written."""
    path = os.path.expanduser(folder)
    while not os.path.exists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)  # the run makes it
    try:
        stat = os.statvfs(path)
    except OSError as error:
        return {"folder": folder, "free": 0, "error": error.strerror or str(error)}
    writable = os.access(path, os.W_OK | os.X_OK)
    fault = "" if writable else "it cannot be written to"
    if writable and stat.f_files and not stat.f_favail:
        fault = "no more files can be made in it"
    return {"folder": folder, "free": stat.f_bavail * stat.f_frsize, "error": fault}


def _greet(listener: socket.socket, word: bytes) -> None:
    while True:
        try:
            came, _ = listener.accept()
            with came:
                came.settimeout(DIAL_TIMEOUT)
                came.sendall(word)
        except OSError:
            continue


def _dialled(host: str, port: int, word: bytes) -> str:
    try:
        with socket.create_connection((host, port), timeout=DIAL_TIMEOUT) as made:
            answer = made.recv(len(word), socket.MSG_WAITALL)
    except socket.gaierror as error:
        return f"unresolved: {error.strerror}"
    except ConnectionRefusedError:
        return "refused: nobody listens there, or a firewall says so"
    except TimeoutError:
        return f"silent: no answer within {DIAL_TIMEOUT:g} s"
    except OSError as error:
        return f"other: {error.strerror or error}"
    return "open" if answer == word else "other: somebody else listens there"


if __name__ == "__main__":
    main()
