"""Attributes and interceptors: settings of a component, and code around its calls.

    gcm run examples/02_attributes_and_interceptors/shop.fractal

The till asks the price list for prices. The price list has an attribute, its tax rate, which the
assembly sets and the till changes later: every controller of a component can be bound like any
other interface, here `prices.attribute-controller`. Two interceptors act around each call of the
price list: one writes a log, the other refuses invalid arguments. Neither class knows about them.
"""

from __future__ import annotations

from typing import Annotated, Protocol

from gcm import AttributeController, Invocation, Runnable, attribute, provides, requires


class Prices(Protocol):
    def price(self, article: str, count: int) -> float: ...


@provides("prices", Prices)
class PriceList:
    tax: Annotated[float, attribute()] = 0.0

    def price(self, article: str, count: int) -> float:
        return round(len(article) * count * (1 + self.tax), 2)


@provides("run", Runnable)
class Till:
    prices: Annotated[Prices, requires()]
    settings: Annotated[AttributeController, requires()]

    def run(self) -> None:
        print("ten apples:", self.prices.price("apple", 10))
        self.settings.set("tax", 0.5)
        print("with more tax:", self.prices.price("apple", 10))
        try:
            self.prices.price("apple", -1)
        except ValueError as error:
            print("refused:", error)


class Log:
    def before(self, call: Invocation) -> None:
        print(f"  {call.operation}{call.args} ...")

    def after(self, call: Invocation, error: BaseException | None) -> None:
        print(f"  ... {'failed' if error else 'done'}")


class OnlySales:
    def before(self, call: Invocation) -> None:
        if call.args[1] <= 0:
            raise ValueError(f"nobody buys {call.args[1]} of anything")

    def after(self, call: Invocation, error: BaseException | None) -> None:
        pass
