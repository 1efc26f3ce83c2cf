"""An active object: requests in its queue, futures for its callers, and what was measured.

    python examples/13_requests/kitchen.py

The cook serves one request at a time, in its own thread. `submit` puts a request into the queue and
returns a future; `immediate` operations bypass the queue. Controllers show which requests wait,
decide which comes first, and measure how long serving took.
"""

from __future__ import annotations

import threading
from typing import Protocol

from gcm import (
    ACTIVE,
    Future,
    MonitorController,
    PriorityController,
    RequestQueueController,
    active,
    immediate,
    provides,
    submit,
)


class Orders(Protocol):
    def cook(self, dish: str) -> str: ...
    def busy(self) -> bool: ...
    def open(self) -> None: ...


@provides("orders", Orders)
class Cook:
    def __init__(self) -> None:
        self.gas = threading.Event()
        self.at_work = threading.Event()

    def cook(self, dish: str) -> str:
        self.at_work.set()
        self.gas.wait()
        return f"{dish} is ready"

    @immediate
    def busy(self) -> bool:
        return self.at_work.wait(10)

    @immediate
    def open(self) -> None:
        self.gas.set()


def main() -> None:
    cook = active(Cook)
    cook.controller(MonitorController).enable()
    cook.start()
    orders = cook.stub("orders", Orders)
    dishes: list[Future[str]] = [submit(orders.cook, dish) for dish in ("soup", "fish", "cake")]
    print("membrane:", cook.membrane.description is ACTIVE and ACTIVE.name)
    print("busy:", orders.busy())
    print("waiting:", cook.controller(RequestQueueController).length())
    print("a stop has priority", cook.controller(PriorityController).get("lifecycle", "stop").name)
    orders.open()
    print([dish.result() for dish in dishes])
    measured = cook.controller(MonitorController).figures()
    print("served:", sum(each.calls for each in measured.values()))
    cook.stop()
    cook.terminate()


if __name__ == "__main__":
    main()
