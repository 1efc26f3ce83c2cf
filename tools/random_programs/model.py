"""What every rank of a program has to see, without running it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.random_programs import reductions
from tools.random_programs.exchanges import (
    NOBODY,
    ROOTED,
    View,
    arriving_layout,
    arriving_object,
    arriving_part,
    base_name,
    incoming,
    is_root,
    places,
    takes_part,
    view_of,
)
from tools.random_programs.layouts import UNTOUCHED, Bytes, deposit, item_size, memory
from tools.random_programs.payload import digest_of, random_bytes, random_object, received
from tools.random_programs.program import Program, Step


def expected(program: Program) -> list[list[str]]:
    """Return what the interpreter has to print for each rank, line by line."""
    return [expected_of(program, rank) for rank in range(program.size)]


def expected_of(program: Program, rank: int) -> list[str]:
    """Return what the interpreter has to print for one rank."""
    return _Rank(program, rank).lines()


def sent_bytes(message: dict[str, Any]) -> Bytes:
    """Return the bytes of a message in the order of their sending."""
    return random_bytes(message["items"] * item_size(message["layout"]), message["seed"])


def sent_memory(message: dict[str, Any]) -> Bytes:
    """Return the memory that a message is sent from."""
    image = memory(message["layout"], message["items"])
    deposit(image, 0, message["layout"], sent_bytes(message))
    return image


def sent_object(message: dict[str, Any]) -> Any:
    """Return the object that a message carries."""
    return random_object(message["size"], message["seed"])


def arrival(message: dict[str, Any], into: Bytes | None = None) -> str:
    """Write down what the receiver of a message sees."""
    source, tag = message["source"], message["tag"]
    if message["object"]:
        return received(source, tag, sent_object(message))
    image = memory(message["receive_layout"], message["capacity"]) if into is None else into
    data = sent_bytes(message)
    deposit(image, 0, message["receive_layout"], data)
    return received(source, tag, image, len(data))


class _Rank:
    """Goes through the steps of one rank; remembers what is to be seen when a request is done."""

    def __init__(self, program: Program, rank: int) -> None:
        self._program = program
        self._rank = rank
        self._open: dict[str, str | None] = {}

    def lines(self) -> list[str]:
        return [
            f"{number} {step['op']}: {line}"
            for number, step in self._program.of_rank(self._rank)
            for line in self._seen(step)
        ]

    def _seen(self, step: Step) -> list[str]:
        match step["op"]:
            case "send" | "receive" | "start" | "collective":
                seen = self._seen_by_one(step)
                if "request" in step:
                    self._open[step["request"]] = seen
                    return []
                return [] if seen is None else [seen]
            case "receive_any":
                messages = (self._program.messages[name] for name in step["messages"])
                return [arrival(message) for message in messages]
            case "sendrecv":
                return [self._exchanged(step)]
            case "nothing":
                return ["nothing"]
            case "cancel":
                return ["cancelled"]
            case "complete":
                lines = (self._open.pop(name) for name in step["requests"])
                return [line for line in lines if line is not None]
            case "communicator":
                return [self._made(name) for name in step["names"]]
            case _:
                return []

    def _seen_by_one(self, step: Step) -> str | None:
        if step["op"] == "collective":
            view = view_of(self._program.communicators[step["comm"]], self._rank)
            return collective_result(step, view)
        if step["op"] == "send" or step.get("end") == "send":
            return None
        return arrival(self._program.messages[step["message"]])

    def _exchanged(self, step: Step) -> str:
        message = self._program.messages[step["receive"]]
        if not step["replace"] or message["object"]:
            return arrival(message)
        return arrival(message, sent_memory(self._program.messages[step["send"]]))

    def _made(self, name: str) -> str:
        return written_view(view_of(self._program.communicators[name], self._rank))


def written_view(view: View) -> str:
    """Write down how a process sees a communicator."""
    return f"rank {view.rank} of {view.size}" + (f" facing {view.peers}" * view.is_inter)


def collective_result(step: Step, view: View) -> str | None:
    """Write down what a process sees of a collective operation; None when there is nothing."""
    name = base_name(step)
    if name == "Barrier":
        return None
    if name in reductions.REDUCTIONS:
        value = reductions.result(step, view)
        return None if value is None else digest_of(value)
    if step["object"]:
        return digest_of(_objects(step, view))
    shares = incoming(step, view)
    if not shares or (step["in_place"] and name.startswith("Scatter") and is_root(step, view)):
        return None
    kinds = [arriving_layout(step, view, peer) for peer, _ in shares]
    begins, end = places(step, kinds, shares)
    image = np.full(end, UNTOUCHED, np.uint8)
    for (peer, _), kind, begin in zip(shares, kinds, begins, strict=True):
        if peer != NOBODY:
            deposit(image, begin, kind, arriving_part(step, view, peer))
    return digest_of(image)


def _objects(step: Step, view: View) -> Any:
    name = base_name(step)
    if name in ROOTED and not takes_part(step, view):
        return None
    if name in ("Bcast", "Scatter"):
        if view.is_inter and view.side == step["root_side"]:
            return None
        return arriving_object(step, view, step["root"])
    if name == "Gather" and not is_root(step, view):
        return None
    return [arriving_object(step, view, peer) for peer in range(view.peers)]
