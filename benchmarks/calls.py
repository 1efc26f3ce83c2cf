"""What a call costs: through a binding, into composites, to many servers, from many clients."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType

from benchmarks.measure import Times, Work, compare
from benchmarks.parts import Calls, Client, Echo, Gatherer, Server, Spreader, Walker
from benchmarks.report import Goal, Line, duration
from gcm import Component, InterceptorController, Invocation, running
from gcm.adl import Assembly

SERVERS = 100
DEPTH = 10
GATHERED = 4


def measured() -> list[Line]:
    """Return the lines about calls."""
    return [*_bindings(), *_multicast(), *_gathercast()]


def _bindings() -> list[Line]:
    plain = Client()
    plain.server = Server()
    with _pair(0) as direct, _pair(DEPTH) as deep, _pair(0) as intercepted:
        server = intercepted.find("server")
        server.controller(InterceptorController).add(_Nothing(), "echo")
        times = compare(
            {
                "plain": _calls_of(plain),
                "binding": _caller(direct),
                "deep": _caller(deep),
                "intercepted": _caller(intercepted),
            },
            time.thread_time,
        )
    ratio = times.ratio("binding", "plain")
    peer = f"plain method call, {duration(times.of('plain') / 10)}"
    return [
        _line("call through a binding", times, "binding", peer, Goal(2, ratio)),
        _line(f"call into {DEPTH} nested composites", times, "deep", peer),
        _line("call with one interceptor", times, "intercepted", peer),
    ]


def _line(what: str, times: Times, case: str, peer: str, goal: Goal | None = None) -> Line:
    ratio = f"{times.ratio(case, 'plain'):.2f} x"
    return Line(what, duration(times.of(case) / 10), peer, ratio, goal)


class _Nothing:
    def before(self, call: Invocation) -> None:
        pass

    def after(self, call: Invocation, error: BaseException | None) -> None:
        pass


def _multicast() -> list[Line]:
    app = Assembly("app")
    app.primitive("all", Spreader)
    app.primitive("each", Walker)
    for number in range(SERVERS):
        app.primitive(f"server{number}", Server)
        app.bind("all.servers", f"server{number}.echo")
        app.bind("each.servers", f"server{number}.echo")
    with running(app.assemble()) as root:
        cases: dict[str, Work] = {
            "all": root.find("all").stub("calls", Calls).call,
            "each": root.find("each").stub("calls", Calls).call,
        }
        times = compare(cases, time.thread_time)
    ratio = times.ratio("all", "each")
    return [
        Line(
            f"multicast to {SERVERS} local servers",
            duration(times.of("all")),
            f"{SERVERS} single calls, {duration(times.of('each'))}",
            f"{ratio:.2f} x",
            Goal(1.3, ratio),
        )
    ]


def _gathercast() -> list[Line]:
    """Measure rounds of clients that each call from a thread of its own."""
    app = Assembly("app")
    app.primitive("gatherer", Gatherer)
    app.primitive("server", Server)
    for number in range(GATHERED):
        app.primitive(f"gathered{number}", Client)
        app.bind(f"gathered{number}.server", "gatherer.echo")
        app.primitive(f"single{number}", Client)
        app.bind(f"single{number}.server", "server.echo")
    with running(app.assemble()) as root:
        barrier = threading.Barrier(GATHERED)

        def wait(times: int) -> None:
            for _ in range(10 * times):
                barrier.wait()

        times = compare(
            {
                "gathered": _together([_calls(root, f"gathered{n}") for n in range(GATHERED)]),
                "barrier": _together([wait] * GATHERED),
            }
        )
    return [
        Line(
            f"gathercast round of {GATHERED} threads",
            duration(times.of("gathered") / 10),
            f"threading.Barrier, {duration(times.of('barrier') / 10)}",
            f"{times.ratio('gathered', 'barrier'):.2f} x",
        )
    ]


def _together(works: list[Work]) -> Work:
    def all_at_once(times: int) -> None:
        threads = [threading.Thread(target=work, args=(times,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return all_at_once


@contextmanager
def _pair(depth: int) -> Iterator[Component]:
    """Yield a client with a server that is that many composites deep, running."""
    app = Assembly("app")
    app.primitive("client", Client)
    here, target = app, "server"
    for level in range(depth):
        inner = here.composite(f"level{level}").serves("echo", Echo)
        here.bind("this.echo" if level else "client.server", f"level{level}.echo")
        here = inner
    here.primitive(target, Server)
    here.bind("this.echo" if depth else "client.server", f"{target}.echo")
    with running(app.assemble()) as root:
        yield root


def _calls(root: Component, path: str) -> Work:
    return root.find(path).stub("calls", Calls).call


def _caller(root: Component) -> Work:
    return _calls_of(root.find("client").content)


def _calls_of(client: Client) -> Work:
    """Return the loop of `client` as code of its own: Python adapts code to what it meets there."""
    loop = Client.call
    own: Work = FunctionType(loop.__code__.replace(), loop.__globals__).__get__(client)
    return own
