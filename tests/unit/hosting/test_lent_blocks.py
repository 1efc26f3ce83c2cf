"""Blocks that a process keeps for others: until they are taken, or until their time is over."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import numpy as np
import pytest

from runtime.hosting.host import Host
from runtime.hosting.lent_blocks import SMALL, LentBlocks
from runtime.transport.errors import TransportError
from runtime.transport.reactor import Reactor


@pytest.fixture
def host() -> Iterator[Host]:
    with Reactor() as reactor:
        made = Host("/owner", reactor)
        yield made
        made.close()


def rows() -> np.ndarray:
    return np.zeros((4, SMALL))


def test_a_result_is_kept_until_all_its_rows_were_taken(host: Host) -> None:
    block = host.blocks.outgoing(rows(), None)
    token = block.owner.token
    assert host.blocks.take(token, 0, 3).shape == (3, SMALL)
    assert len(host.blocks) == 1
    host.blocks.take(token, 3, 4)
    assert len(host.blocks) == 0
    with pytest.raises(TransportError, match="is not kept any more"):
        host.blocks.take(token, 0, 1)


def test_a_result_that_nobody_takes_is_dropped_without_another_one(host: Host) -> None:
    blocks = LentBlocks(host, result_seconds=0.01)
    blocks.outgoing(rows(), None)
    later: queue.Queue[int] = queue.Queue()
    host.reactor.later(0.02, lambda: later.put(len(blocks)))
    assert later.get(timeout=10.0) == 0


def test_an_argument_is_kept_until_its_call_is_over(host: Host) -> None:
    blocks = LentBlocks(host, result_seconds=0.0)
    tokens: list[int] = []
    blocks.outgoing(rows(), tokens)
    blocks.take(tokens[0], 0, 4)
    assert len(blocks) == 1
    blocks.take_back(tokens)
    assert len(blocks) == 0
