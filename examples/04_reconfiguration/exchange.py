"""Reconfiguration under load: a server is exchanged for another, and no request is lost.

    gcm run examples/04_reconfiguration/exchange.fractal

Four threads send requests through the front to a store as fast as they can. Meanwhile the operator
stops the front, binds it to the other store and starts it again, over and over. A stop lets the
requests inside finish and makes the others wait until the start, so every request is served. The
operator uses control interfaces, which are bound like any others.
"""

from __future__ import annotations

import threading
import time
from typing import Annotated, Protocol

from gcm import BindingController, LifeCycleController, Runnable, provides, requires

THREADS, EXCHANGES = 4, 21


class Store(Protocol):
    def put(self, number: int) -> None: ...


class Stock(Protocol):
    def count(self) -> int: ...


@provides("store", Store)
@provides("stock", Stock)
class Shelf:
    def __init__(self) -> None:
        self.numbers: list[int] = []

    def put(self, number: int) -> None:
        self.numbers.append(number)

    def count(self) -> int:
        return len(self.numbers)


@provides("entry", Store)
class Front:
    store: Annotated[Store, requires()]
    spare: Annotated[Store, requires()]

    def put(self, number: int) -> None:
        self.store.put(number)


@provides("run", Runnable)
class Operator:
    front: Annotated[Store, requires()]
    binding: Annotated[BindingController, requires()]
    lifecycle: Annotated[LifeCycleController, requires()]
    old: Annotated[Stock, requires()]
    new: Annotated[Stock, requires()]

    def __init__(self) -> None:
        self.enough = threading.Event()
        self.sent: list[int] = []

    def run(self) -> None:
        threads = [threading.Thread(target=self.send) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for _ in range(EXCHANGES):
            self.exchange()
            time.sleep(0.01)  # let the new store work for a while
        self.enough.set()
        for thread in threads:
            thread.join()
        old, new, sent = self.old.count(), self.new.count(), sum(self.sent)
        print(f"{EXCHANGES} exchanges while {sent} requests were sent")
        print(f"{old} arrived at the old store, {new} at the new one, {sent - old - new} are lost")

    def send(self) -> None:
        count = 0
        while not self.enough.is_set():
            self.front.put(count)
            count += 1
        self.sent.append(count)

    def exchange(self) -> None:
        self.lifecycle.stop()
        (store,), (spare,) = self.binding.lookup("store"), self.binding.lookup("spare")
        for client, server in {"store": spare, "spare": store}.items():
            self.binding.unbind(client)
            self.binding.bind(client, server)
        self.lifecycle.start()
