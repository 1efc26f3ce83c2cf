"""The output of ranks with replicas: each line is shown once, whichever replica says it first.

Replicas write the same lines in the same order, so a line is known by its number. It is shown when
the first replica has written it: that needs no memory for lines of those that are behind, and
nothing is missing or twice when one of them dies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Stream = tuple[str, str]
"""Who writes, a process or a rank, and whether that is its stdout or its stderr."""


class ReplicaLines:
    """Says what of the output of processes is to be shown, under the name of the first replica.

    `ranks` has the rank of each process.

    >>> lines = ReplicaLines({"0:0:0": 0, "0:1:0": 0})
    >>> lines.written("0:1:0", "stdout", b"one\\ntwo\\n")
    ('0:0:0', b'one\\ntwo\\n')
    >>> lines.written("0:0:0", "stdout", b"one\\ntwo\\nthree\\n")
    ('0:0:0', b'three\\n')
    """

    def __init__(self, ranks: Mapping[str, int]) -> None:
        firsts: dict[int, str] = {}
        for process, rank in ranks.items():
            firsts.setdefault(rank, process)
        self._names = {process: firsts[rank] for process, rank in ranks.items()}
        self._written: dict[Stream, int] = {}
        self._shown: dict[Stream, int] = {}
        self._begun: dict[Stream, list[bytes]] = {}

    def written(self, process: str, stream: str, block: bytes) -> tuple[str, bytes]:
        """Return the name under which to show a block, and what of it is shown.

        A line that is not complete is kept: the process may die before it writes the rest.
        """
        name, key = self._names[process], (process, stream)
        end = block.rfind(b"\n") + 1
        begun = self._begun.setdefault(key, [])
        if not end:
            begun.append(block)
            return name, b""
        rest, block = block[end:], b"".join((*begun, block[:end]))
        begun[:] = [rest]
        before = self._written.get(key, 0)
        after = self._written[key] = before + block.count(b"\n")
        shown = self._shown.get((name, stream), 0)
        if after <= shown:
            return name, b""
        self._shown[name, stream] = after
        return name, _behind(block, shown - before)

    def finish(self) -> Iterator[tuple[str, str, bytes]]:
        """Yield the name, the stream and what is left of lines that nobody has completed."""
        lasts: dict[Stream, bytes] = {}
        for (process, stream), begun in self._begun.items():
            key = self._names[process], stream
            last = b"".join(begun)
            if last and self._written.get((process, stream), 0) == self._shown.get(key, 0):
                lasts[key] = max(lasts.get(key, b""), last, key=len)
        for (name, stream), last in lasts.items():
            yield name, stream, last


def _behind(block: bytes, lines: int) -> bytes:
    """Return what is behind the first so many lines."""
    start = 0
    for _ in range(lines):
        start = block.index(b"\n", start) + 1
    return block[start:]
