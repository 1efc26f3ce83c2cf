"""The classes of the samples about what bindings, collections and signatures mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Protocol

from gcm import Cardinality, LifeCycleController, provides, requires


class Echo(Protocol):
    def echo(self, text: str) -> str: ...


class Echoes(Protocol):
    def echo(self, text: str) -> list[str]: ...


class PlainEcho:
    """A class, and no interface."""

    def echo(self, text: str) -> str:
        return text


@provides("echo", Echo)
class Voice:
    votes: Annotated[Echo | None, requires(optional=True)]

    def echo(self, text: str) -> str:
        return text if self.votes is None else self.votes.echo(text)


@provides("echo", Echo)
class Poll:
    """Asks every voice, and tells all answers in one line."""

    voices: Annotated[Echoes, requires(cardinality=Cardinality.MULTICAST)]

    def echo(self, text: str) -> str:
        return " ".join(sorted(self.voices.echo(text)))


@provides("votes", Echo, cardinality=Cardinality.GATHERCAST)
class Urn:
    """Gets the votes of all voices at once."""

    def echo(self, text: list[str]) -> list[str]:
        return [f"{one}/{len(text)}" for one in text]


@provides("echo", Echo)
class Hub:
    """Has a mandatory collection, which may be empty."""

    spokes: Annotated[Mapping[str, Echo], requires(cardinality=Cardinality.COLLECTION)]

    def echo(self, text: str) -> str:
        return f"{text} {len(self.spokes)}"


@provides("echo", Echo)
class Watch:
    """Tells the state of the component whose life it watches."""

    life: Annotated[LifeCycleController, requires()]

    def echo(self, text: str) -> str:
        return f"{text} {self.life.state()}"
