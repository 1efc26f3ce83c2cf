"""How much memory a test takes at most, without the tenfold time that `tracemalloc` needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STATUS = Path("/proc/self/status")
RESET_PEAK = "5"


@contextmanager
def takes_at_most(size: int) -> Iterator[None]:
    """Fail if the process grows by more than `size` bytes meanwhile, also for a moment.

    What was freed before and is used again does not count. Linux only; elsewhere nothing is
    measured.
    """
    if not STATUS.exists():
        yield
        return
    Path("/proc/self/clear_refs").write_text(RESET_PEAK)
    before = _kib("VmRSS")
    yield
    grown = (_kib("VmHWM") - before) << 10
    assert grown <= size, f"{grown:,} bytes more than before, instead of at most {size:,}"


def _kib(name: str) -> int:
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])
