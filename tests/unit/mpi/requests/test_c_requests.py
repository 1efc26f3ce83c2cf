"""The requests of a C program, whose numbers are used again."""

from __future__ import annotations

from typing import Any

from runtime.mpi.from_c.requests import Requests


class Busy(dict[int, Any]):
    """Begins a request while another one is taken out, as another thread might just then."""

    def __init__(self, requests: Requests) -> None:
        self.requests, self.handles = requests, list[int]()

    def __delitem__(self, number: int) -> None:
        super().__delitem__(number)
        self.handles.append(self.requests.keep("begun meanwhile"))


def test_two_requests_never_have_one_number_where_threads_begin_and_end_them_at_once() -> None:
    requests = Requests(1000)
    requests._things = busy = Busy(requests)
    first, second = requests.keep("first"), requests.keep("second")
    assert requests.take(first) == "first"
    assert len({first, second, *busy.handles}) == 3
    assert requests.keep("another") == first
    assert requests.take(second) == "second"
