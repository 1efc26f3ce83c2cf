"""The classes of the documents in this folder."""

from __future__ import annotations

from typing import Annotated, Protocol

from gcm import attribute, provides, requires


class Echo(Protocol):
    def echo(self, text: str) -> str: ...


@provides("echo", Echo)
class Repeater:
    times: Annotated[int, attribute()] = 1

    def echo(self, text: str) -> str:
        return text * self.times


@provides("echo", Echo)
class Passer:
    next: Annotated[Echo, requires()]

    def echo(self, text: str) -> str:
        return self.next.echo(text)


class Settings(Protocol):
    limit: int
    title: str


class Tuning:
    limit: Annotated[int, attribute()] = 0
    title: Annotated[str, attribute()] = ""
