"""The output of ranks with replicas: each line is shown once, whichever replica says it first.

Replicas write the same lines in the same order to stdout, so such a line is known by its number: it
is shown when the first replica has written it. That needs no memory for lines of those that are
behind, and nothing is missing or twice when one of them dies.

On stderr one replica alone may say something, such as a warning about its host or why it has
failed. A line is known by its text there: it is shown as often as a replica has written it. So is
what a replica has not completed at its end, unless others have written a line that begins like it.

A replica that was started again says in its stdout, before its own first line, how many lines the
one had written whose state it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.rank_name import RankName

Stream = tuple[RankName, str]
"""Who writes, a process or a rank, and whether that is its stdout or its stderr."""

MOST_KEPT = 64 << 10
"""A line that is longer is shown in pieces of so many bytes, each like a line of its own."""

MOST_BEHIND = 4096
"""Of so many lines of stderr it is known which a replica has not written yet; then of the last."""

MOST_KNOWN = 128
"""Of so many bytes of such a line it is known what they are."""

MARK = b"\0lines before this one: "
"""How a line of stdout begins that says only how many lines count as written before it."""

Text = tuple[bytes, int]
"""What a line of stderr is known by: how it begins, and its hash."""


class ReplicaLines:
    """Says what of the output of processes is to be shown, under the name of the first replica.

    `ranks` has the rank of each process.

    >>> lines = ReplicaLines({RankName(0, 0, 0): 0, RankName(0, 1, 0): 0})
    >>> lines.written(RankName(0, 1, 0), "stdout", b"one\\ntwo\\n")[1]
    b'one\\ntwo\\n'
    >>> lines.written(RankName(0, 0, 0), "stdout", b"one\\ntwo\\nthree\\n")
    (RankName(site=0, number=0, rank=0, incarnation=0), b'three\\n')
    """

    def __init__(self, ranks: Mapping[RankName, int]) -> None:
        firsts: dict[int, RankName] = {}
        for process, rank in ranks.items():
            firsts.setdefault(rank, process)
        self._names = {process: firsts[rank] for process, rank in ranks.items()}
        self._replicas: dict[RankName, list[RankName]] = {}
        for process, name in self._names.items():
            self._replicas.setdefault(name, []).append(process)
        self._written: dict[Stream, int] = {}
        self._shown: dict[Stream, int] = {}
        self._behind: dict[RankName, dict[Text, int]] = {process: {} for process in ranks}
        """How often each line was shown on stderr that a process has not written."""
        self._begun: dict[Stream, bytearray] = {}

    def written(self, process: RankName, stream: str, block: bytes) -> tuple[RankName, bytes]:
        """Return the name under which to show a block, and what of it is shown.

        A line that is not complete is kept: the process may die before it writes the rest.
        """
        name, begun = self._names[process], self._begun.setdefault((process, stream), bytearray())
        is_new = self._is_new_text if stream == "stderr" else self._is_new
        lines = cut_lines(begun, block)
        return name, b"".join(line for line in lines if is_new(process, name, stream, line))

    def _is_new(self, process: RankName, name: RankName, stream: str, line: bytes) -> bool:
        """Count a line; tell whether nobody has written as many."""
        _, mark, number = line.rpartition(MARK)  # it may follow the last words of one that died
        if mark and number.strip().isdigit():
            self._written[process, stream] = int(number)
            self._behind[process].clear()  # the one in its place before was behind, not this one
            return False
        count = self._written[process, stream] = self._written.get((process, stream), 0) + 1
        is_new = count > self._shown.get((name, stream), 0)
        if is_new:
            self._shown[name, stream] = count
        return is_new

    def _is_new_text(self, process: RankName, name: RankName, stream: str, line: bytes) -> bool:
        """Count a line; tell whether nobody has written this one as often."""
        del stream
        text, behind = (line[:MOST_KNOWN], hash(line)), self._behind[process]
        if times := behind.pop(text, 0):
            if times > 1:
                behind[text] = times - 1
            return False
        for twin in self._replicas[name]:
            if twin != process:
                its = self._behind[twin]
                its[text] = its.pop(text, 0) + 1
                if len(its) > MOST_BEHIND:
                    del its[next(iter(its))]
        return True

    def finish(self) -> Iterator[tuple[RankName, str, bytes]]:
        """Yield the name, the stream and what is left of lines that nobody has completed."""
        lasts: dict[Stream, list[bytes]] = {}
        for (process, stream), begun in self._begun.items():
            key, last = (self._names[process], stream), bytes(begun)
            if stream == "stderr":
                is_new = not any(known.startswith(last[:MOST_KNOWN])
                                 for known, _ in self._behind[process])  # fmt: skip
            else:  # else it has begun a line that was shown
                is_new = self._written.get((process, stream), 0) == self._shown.get(key, 0)
            if last and is_new:
                lasts.setdefault(key, []).append(last)
        for (name, stream), found in lasts.items():
            longest = sorted(found, key=len, reverse=True)
            kept: list[bytes] = []
            for last in longest if stream == "stderr" else longest[:1]:
                if not any(other.startswith(last) for other in kept):
                    kept.append(last)
            yield name, stream, b"\n".join(kept)


def cut_lines(begun: bytearray, block: bytes | memoryview) -> list[bytes]:
    """Add a block to what is begun, and return and remove the lines that are complete."""
    looked, start, lines = len(begun), 0, []
    begun += block
    while end := _end_of_line(begun, start, max(start, looked)):
        lines.append(bytes(memoryview(begun)[start:end]))
        start = end
    del begun[:start]
    return lines


def _end_of_line(output: bytearray, start: int, looked: int) -> int:
    """Return where a line ends, or a piece of a long one; 0 if it is not complete.

    Up to `looked` it was looked for its end before.
    """
    end = output.find(b"\n", looked, start + MOST_KEPT) + 1
    if end:
        return end
    return start + MOST_KEPT if len(output) - start >= MOST_KEPT else 0
