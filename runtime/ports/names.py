"""The names of the ports of a run, which its launcher keeps: ranks end at any time. Pure."""

from __future__ import annotations

from enum import IntEnum, StrEnum

LONGEST = 1024
"""So many characters a name or a port has at most."""


MOST = 1024
"""So many names of one rank are kept."""


class NameRequest(StrEnum):
    """What a rank asks for."""

    PUBLISH = "publish"
    UNPUBLISH = "unpublish"
    LOOK_UP = "look up"


class NameAnswer(IntEnum):
    """What became of it."""

    DONE = 0
    UNKNOWN = 1
    """Nobody has published that name."""
    TAKEN = 2
    """Another port has the name; the answer says which."""
    OTHER_PORT = 3
    """It was published for another port; the answer says which."""
    TOO_MANY = 4
    """The rank has published `MOST` names already."""


class PortNames:
    """Names, their ports, and who has published them: a name goes with its rank.

    >>> names = PortNames()
    >>> names.ask("0:1:0", NameRequest.PUBLISH, "ocean", "port")
    (<NameAnswer.DONE: 0>, 'port')
    >>> names.ask("0:0:0", NameRequest.LOOK_UP, "ocean")
    (<NameAnswer.DONE: 0>, 'port')
    >>> names.forget("0:1:0")
    >>> names.ask("0:0:0", NameRequest.LOOK_UP, "ocean")
    (<NameAnswer.UNKNOWN: 1>, '')
    """

    def __init__(self) -> None:
        self._published: dict[str, tuple[str, str]] = {}

    def ask(
        self, rank: str, kind: NameRequest, name: str, port: str = ""
    ) -> tuple[NameAnswer, str]:
        """Do what a rank asks for; return what came of it, and the port that has the name now.

        Raises:
            ValueError: the name or the port is too long.
        """
        if max(len(name), len(port)) > LONGEST:
            raise ValueError(f"a name of more than {LONGEST} characters")
        _, known = self._published.get(name, ("", ""))
        if kind == NameRequest.PUBLISH:
            if known:
                return NameAnswer.TAKEN, known
            if sum(one == rank for one, _ in self._published.values()) >= MOST:
                return NameAnswer.TOO_MANY, ""
            self._published[name] = rank, port
            return NameAnswer.DONE, port
        if not known:
            return NameAnswer.UNKNOWN, ""
        if kind == NameRequest.UNPUBLISH:
            if known != port:
                return NameAnswer.OTHER_PORT, known
            del self._published[name]
        return NameAnswer.DONE, known

    def forget(self, rank: str) -> None:
        """Forget what a rank has published, which has ended."""
        self._published = {name: one for name, one in self._published.items() if one[0] != rank}
