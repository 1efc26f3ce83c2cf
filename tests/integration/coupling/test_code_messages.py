from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from gcm import submit
from runtime import coupling
from runtime.coupling import CodeEnded, NoSuchRank, UnknownCode
from runtime.processes.launcher.machine import Machine

pytestmark = pytest.mark.mpi

Steer = Callable[..., Machine]

ECHO = """
from runtime import coupling
while True:
    message = coupling.receive(code=coupling.DRIVER)
    if message.value is None:
        break
    coupling.send(message.value, code=coupling.DRIVER, tag=message.tag + 1)
"""


def test_arrays_go_from_python_to_a_rank_and_back(steer: Steer) -> None:
    echo = steer(echo=ECHO).code("echo").messages
    large, small = np.arange(1_000_000.0).reshape(1000, 1000), np.arange(3)
    echo.send(large, tag=5)
    echo.send({"small": small}, tag=7)
    assert np.array_equal(echo.recv(tag=6), large)
    message = echo.receive()
    assert (message.code, message.rank, message.tag) == ("echo", 0, 8)
    assert message.value["small"].tolist() == [0, 1, 2]
    message.value["small"][0] = 9  # what came is the receiver's own
    echo.send(None)


def test_messages_of_each_pair_keep_their_order_while_the_codes_use_mpi(steer: Steer) -> None:
    talk = """
from mpi4py import MPI
from runtime import coupling
world = MPI.COMM_WORLD
other = "b" if coupling.code == "a" else "a"
assert (coupling.rank, coupling.size) == (world.Get_rank(), world.Get_size())
for number in range(200):
    for rank in range(2):
        coupling.send((coupling.rank, number), code=other, rank=rank, tag=number % 3)
    world.allreduce(number)
heard = [coupling.receive(code=other) for _ in range(400)]
for rank in range(2):
    assert [one.value for one in heard if one.rank == rank] == [(rank, n) for n in range(200)]
coupling.send("in order", code=coupling.DRIVER)
"""
    machine = steer(2, a=talk, b=talk)
    for name in ("a", "b"):
        assert [machine.code(name).messages.recv(rank=n) for n in (0, 1)] == ["in order"] * 2
        assert machine.code(name).control.wait(20) == {0: 0, 1: 0}


def test_a_fast_sender_waits_for_a_slow_receiver(steer: Steer) -> None:
    fast = """
import numpy
from runtime import coupling
sent = 0
try:
    while True:
        coupling.send(numpy.full(250_000, sent), code="slow", timeout=1)
        sent += 1
except TimeoutError as late:
    coupling.send((sent, str(late)), code=coupling.DRIVER)
coupling.recv(code=coupling.DRIVER)
coupling.send("room again", code="slow", timeout=20)
"""
    slow = """
from runtime import coupling
count = coupling.recv(code=coupling.DRIVER)
heard = [int(coupling.recv(code="fast")[-1]) for _ in range(count)]
coupling.send(heard, code=coupling.DRIVER)
coupling.send(coupling.recv(code="fast"), code=coupling.DRIVER)
"""
    machine = steer(fast=fast, slow=slow)
    sender, receiver = (machine.code(name).messages for name in ("fast", "slow"))
    sent, why = sender.recv(timeout=30)
    assert sent == 5  # of 2 MB each: the window of 8 MiB, and one message
    assert re.fullmatch(r"fast .* rank 0 of slow: timed out after 1 s", why)
    receiver.send(sent)
    assert receiver.recv(timeout=30) == list(range(sent))
    sender.send("go on")
    assert receiver.recv(timeout=30) == "room again"


def test_several_calls_wait_at_the_same_time(steer: Steer) -> None:
    echo = steer(echo=ECHO).code("echo").messages
    later = [submit(echo.recv, tag=tag) for tag in (11, 21)]
    echo.send("second", tag=20)
    echo.send("first", tag=10)
    assert [one.result(20) for one in later] == ["first", "second"]
    echo.send(None)


def test_nobody_waits_in_vain_for_a_message(steer: Steer) -> None:
    machine = steer(brief="", echo=ECHO)
    brief, echo = machine.code("brief"), machine.code("echo")
    assert brief.control.wait(20) == {0: 0}
    with pytest.raises(CodeEnded, match=r"brief has ended while \(driver\) waits for a message"):
        brief.messages.recv()
    with pytest.raises(CodeEnded, match=r"brief has ended while \(driver\) sends a message"):
        brief.messages.send(1)
    with pytest.raises(
        TimeoutError, match=r"with tag 3 from any rank of echo: timed out after 0.1 s"
    ):
        echo.messages.recv(tag=3, timeout=0.1)
    with pytest.raises(NoSuchRank, match=r"echo has no rank 1. Its ranks are 0 to 0"):
        echo.messages.send(1, rank=1)
    with pytest.raises(UnknownCode, match=r"there is no code 'ecko' in this deployment. did you"):
        machine.code("ecko")


def test_a_rank_is_told_what_it_did_wrong(steer: Steer) -> None:
    wrong = """
from runtime import coupling
said = []
for options in ({"code": "wromg"}, {"code": "wrong", "rank": 1}, {"code": "wrong", "rank": -1}):
    for act in (lambda: coupling.send(0, **options), lambda: coupling.recv(**options)):
        try:
            act()
        except coupling.CouplingError as fault:
            said.append(f"{type(fault).__name__}: {fault}")
try:
    coupling.send(lambda: 0, code="wrong")
except Exception as fault:
    said.append(type(fault).__name__)
coupling.send((said, coupling.codes), code=coupling.DRIVER)
"""
    said, codes = steer(wrong=wrong).code("wrong").messages.recv(timeout=30)
    unknown = "UnknownCode: there is no code 'wromg' in this deployment. did you mean 'wrong'?"
    ranks = [f"NoSuchRank: wrong has no rank {n}. Its ranks are 0 to 0" for n in (1, -1)]
    assert said == [unknown] * 2 + [ranks[0]] * 2 + [ranks[1]] * 2 + ["NotSendable"]
    assert codes == {"wrong": 1, coupling.DRIVER: 1}
