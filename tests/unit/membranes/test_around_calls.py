"""What lies around a call sees its end once, however it ends."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

import pytest

from gcm import Future
from gcm.membranes.around import End, around


class Line:
    """A way on whose result comes later, or which cannot be taken at all."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.inner: Future[Any] = Future("the inner call")
        self.failure = failure

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.submit(*args, **kwargs).result(0)

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        if self.failure is not None:
            raise self.failure
        return self.inner


class Watch:
    """Notes each end, and returns as its outcome what it was told to."""

    def __init__(self, instead: BaseException | None = None) -> None:
        self.instead = instead
        self.ends: list[BaseException | None] = []

    def begin(self, _args: Any, _kwargs: Any) -> End:
        return self.end

    def end(self, error: BaseException | None) -> BaseException | None:
        self.ends.append(error)
        return self.instead


def test_an_end_that_says_nothing_leaves_the_error_as_it_is() -> None:
    watch, refused = Watch(), ValueError("refused")

    def proceed() -> None:
        raise refused

    with pytest.raises(ValueError, match="refused") as caught:
        around(proceed, watch.begin)()
    assert caught.value is refused
    assert watch.ends == [refused]


@pytest.mark.parametrize("instead", [None, RuntimeError("another one")])
def test_a_call_that_could_not_be_sent_ends_where_it_was_sent(instead: Exception | None) -> None:
    watch, lost = Watch(instead), ValueError("lost")
    port: Any = around(Line(lost), watch.begin)
    with pytest.raises((ValueError, RuntimeError)) as caught:
        port.submit()
    assert caught.value is (instead or lost)
    assert watch.ends == [lost]


def test_the_end_of_a_cancelled_call_is_a_cancellation() -> None:
    watch, line = Watch(), Line()
    port: Any = around(line, watch.begin)
    future = port.submit()
    assert line.inner.cancel()
    assert future.cancelled()
    assert [type(one) for one in watch.ends] == [CancelledError]
