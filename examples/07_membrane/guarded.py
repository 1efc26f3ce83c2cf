"""Components in a membrane: monitoring is built from components too.

    gcm run examples/07_membrane/guarded.fractal

The membrane of `storage` holds two non-functional components. The meter intercepts each call of
`store` and triggers the alarm when there are too many; the alarm asks the component that it watches
for its path. The meter's figures are an interface of `storage`. The cache and the disk inside know
nothing of this.
"""

from __future__ import annotations

from typing import Annotated, Protocol

from gcm import (
    ComponentController,
    GcmError,
    Interceptor,
    InterceptorController,
    Invocation,
    MembraneController,
    Runnable,
    provides,
    requires,
)


class Store(Protocol):
    def put(self, key: str) -> str: ...


class Figures(Protocol):
    def calls(self) -> int: ...


class Alarm(Protocol):
    def ring(self, why: str) -> None: ...


@provides("calls", Interceptor)
@provides("figures", Figures)
class Meter:
    alarm: Annotated[Alarm, requires()]

    def __init__(self) -> None:
        self.count = 0

    def before(self, call: Invocation) -> None:
        self.count += 1
        if self.count > 2:
            self.alarm.ring(f"call {self.count}, {call.operation}")

    def after(self, call: Invocation, error: BaseException | None) -> None:
        pass

    def calls(self) -> int:
        return self.count


@provides("alarm", Alarm)
class Siren:
    storage: Annotated[ComponentController, requires()]

    def ring(self, why: str) -> None:
        print(f"too much for {self.storage.path()}: {why}")


@provides("store", Store)
class Disk:
    def put(self, key: str) -> str:
        return f"{key} on disk"


@provides("store", Store)
class Cache:
    below: Annotated[Store, requires()]

    def put(self, key: str) -> str:
        return self.below.put(key)


@provides("run", Runnable)
class User:
    store: Annotated[Store, requires()]
    membrane: Annotated[MembraneController, requires()]
    interceptors: Annotated[InterceptorController, requires()]

    def run(self) -> None:
        for key in ("one", "two", "three"):
            print(self.store.put(key))
        meter = self.membrane.part("meter").stub("figures", Figures)
        print(meter.calls(), "calls seen by", self.membrane.names()[0])
        print(len(self.interceptors.placed("store")), "interceptor on store")
        try:
            self.membrane.remove("meter")
        except GcmError as error:
            print(error.what)
