"""What a peer tells of its machine: system, processor, cores, memory, and how busy it is now."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

KIB = 1024


class MachineFacts:
    """Reads what does not change once, and the rest each time; `root` is `/`, or that of a test."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._memory = root / "proc" / "meminfo"
        self._constant: dict[str, object] = {
            "system": system_of(_text(root / "etc" / "os-release")) or platform.system(),
            "processor": processor_of(_text(root / "proc" / "cpuinfo")) or platform.machine(),
            "cores": os.cpu_count() or 1,
        }

    def facts(self) -> Mapping[str, object]:
        """Return plain data; memory is in bytes, the load is that of the last minute."""
        total, free = memory_of(_text(self._memory))
        load = round(os.getloadavg()[0], 2)
        return {**self._constant, "memory": total, "free": free, "load": load}


def system_of(os_release: str) -> str:
    """Return the name of a system, as /etc/os-release has it.

    >>> system_of('ID=debian\\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\\n')
    'Debian GNU/Linux 12 (bookworm)'
    """
    found = re.search(r'^PRETTY_NAME="?([^"\n]*)', os_release, re.MULTILINE)
    return found[1] if found else ""


def processor_of(cpuinfo: str) -> str:
    """Return the name of the first processor of /proc/cpuinfo.

    >>> processor_of("processor\\t: 0\\nmodel name\\t: AMD EPYC 7B13\\nmodel name\\t: other\\n")
    'AMD EPYC 7B13'
    """
    found = re.search(r"^model name\s*: (.*)$", cpuinfo, re.MULTILINE)
    return found[1].strip() if found else ""


def memory_of(meminfo: str) -> tuple[int, int]:
    """Return how many bytes /proc/meminfo has in all, and free for programs; 0 if it is silent.

    >>> memory_of("MemTotal:  8 kB\\nMemFree:  1 kB\\nMemAvailable:  2 kB\\n")
    (8192, 2048)
    """

    def read(name: str) -> int:
        found = re.search(rf"^{name}:\s*([0-9]+) kB", meminfo, re.MULTILINE)
        return KIB * int(found[1]) if found else 0

    return read("MemTotal"), read("MemAvailable")


def _text(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(encoding="utf-8", errors="replace")
    return ""
