"""Active objects against pykka's actors: both serve one request at a time in a thread."""

from __future__ import annotations

from typing import Any

import pykka

from benchmarks.measure import Times, Work, compare
from benchmarks.parts import Echo, Server
from benchmarks.report import Goal, Line
from gcm import active, running, submit

WINDOW = 100
"""How many requests are on their way before the results are looked at."""

MANY = f"{WINDOW} calls, then futures"


class EchoActor(pykka.ThreadingActor):
    def echo(self, value: int) -> int:
        return value

    def on_receive(self, message: Any) -> Any:
        return message


def measured() -> list[Line]:
    """Return the lines about active objects."""
    reference = EchoActor.start()
    try:
        with running(active(Server)) as component:
            stub = component.stub("echo", Echo)
            times = compare(_cases(stub, reference))
    finally:
        reference.stop()
    return [
        _line("call and wait", times, "call", "ask", "ask"),
        _line("the same, to proxies", times, "call", "proxy call", "proxy call and get"),
        _line(MANY, times, "futures", "asks", "ask(block=False)"),
        _line(f"{MANY}, to proxies", times, "futures", "proxy futures", "proxy calls"),
        _line(f"{MANY}, to tell", times, "futures", "tell", "tell (no result)", goal=False),
    ]


def _cases(stub: Echo, reference: pykka.ActorRef[EchoActor]) -> dict[str, Work]:
    proxy = reference.proxy()

    def call(times: int) -> None:
        for _ in range(times):
            stub.echo(1)

    def ask(times: int) -> None:
        for _ in range(times):
            reference.ask(1)

    def proxy_call(times: int) -> None:
        for _ in range(times):
            proxy.echo(1).get()

    def futures(times: int) -> None:
        for _ in range(times):
            waiting = [submit(stub.echo, 1) for _ in range(WINDOW)]
            [future.result() for future in waiting]

    def tell(times: int) -> None:
        for _ in range(times):
            for _ in range(WINDOW - 1):
                reference.tell(1)
            reference.ask(1)

    def asks(times: int) -> None:
        for _ in range(times):
            pykka.get_all([reference.ask(1, block=False) for _ in range(WINDOW)])

    def proxy_futures(times: int) -> None:
        for _ in range(times):
            pykka.get_all([proxy.echo(1) for _ in range(WINDOW)])

    return {
        "call": call,
        "ask": ask,
        "proxy call": proxy_call,
        "futures": futures,
        "tell": tell,
        "asks": asks,
        "proxy futures": proxy_futures,
    }


def _line(what: str, times: Times, ours: str, theirs: str, peer: str, *, goal: bool = True) -> Line:
    loops = 1 if ours == "call" else WINDOW
    ratio = 1 / times.ratio(ours, theirs)
    return Line(
        what,
        f"{loops / times.of(ours):,.0f} /s",
        f"pykka: {peer}, {loops / times.of(theirs):,.0f} /s",
        f"{ratio:.2f} x",
        Goal(1, ratio, at_least=True) if goal else None,
    )
