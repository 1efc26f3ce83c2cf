"""What the launcher takes from front-ends, and passes on: of their own ranks, as they are now."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.coupling.code_run import CodeState
from runtime.coupling.message_paths import DRIVER
from runtime.machine.deaths import RankDeath
from runtime.machine.paths import LAUNCHER
from runtime.processes.launcher.machine import Machine
from runtime.rank_name import RankName
from runtime.transport.channel import IncomingCall
from runtime.transport.errors import TransportError
from runtime.transport.messages import NOTE, PLAIN, Target, call_frame

pytestmark = pytest.mark.mpi

AIR = """
from runtime import coupling

coupling.send("here", code=coupling.DRIVER)
coupling.recv(code=coupling.DRIVER)
"""


def death(rank: str, why: str) -> dict[str, object]:
    return RankDeath.lost(RankName.parse(rank), why).plain


def test_a_front_end_tells_of_its_own_ranks_in_their_present_incarnation(
    steer: Callable[..., Machine], caplog: pytest.LogCaptureFixture
) -> None:
    machine = steer(air=AIR)
    air = machine.code("air")
    assert air.messages.recv(timeout=60) == "here"
    air.control.kill()
    air.control.start()
    assert air.messages.recv(timeout=60) == "here"
    executor = machine._executor
    assert executor is not None

    def told(operation: str, *args: object) -> None:
        """Let the front-end tell something of its ranks."""
        place = executor._table["0:0"]
        assert place.channel is not None
        frame = call_frame(NOTE, 0, Target(LAUNCHER, "reports", operation), (args, {}))
        executor.calls.take(place, IncomingCall(frame, place.channel, PLAIN))

    told("rank_ended", "0:0#1", "0:0:0", death("0:0:0", "it was taken for dead"))
    told("failed", "0:0#1", "ranks:0:0", "it was taken for dead")
    told("job_ended", "0:0#1", 1, "it was taken for dead", True)
    told("rank_ended", "0:0#2", "0:1:0", death("0:1:0", "that is no rank of this cluster"))
    told("rank_ended", "0:1#1", "0:1:0", death("0:1:0", "that is another cluster"))
    told("failed", "0:0#2", "ranks:0:1", "that is another cluster's job")
    told("node_lost", "0:0#2", "elsewhere/node0", "that is another cluster's node")
    air.messages.send("go on")
    assert air.control.wait(60) == {0: 0}
    status = air.control.status()
    assert (status.state, status.incarnation, status.why) == (CodeState.ENDED, 2, "")
    assert "is told of a rank of another cluster" in caplog.text
    assert "rank_ended was called" in caplog.text
    assert "'ranks:0:1' does not belong to 0:0" in caplog.text
    assert "'elsewhere/node0' does not belong to 0:0" in caplog.text


FIRST_AIR = """
from runtime import coupling
from runtime.coupling.rank_side import mailbox
import time

coupling.send("here", code="sea")
side = mailbox()._mail_to.__self__
while side._wire.mail_to("0:1:0") is None:
    time.sleep(0.01)
coupling.send("connected", code="sea")
coupling.send(coupling.recv(code="sea"), code=coupling.DRIVER)
coupling.recv(code="sea")
"""
SEA = """
from runtime import coupling
from runtime.coupling.rank_side import mailbox

for life in (1, 2):
    assert coupling.recv(code="air") == "here"
    assert coupling.recv(code="air") == "connected"
    coupling.send(life, code=coupling.DRIVER)
    coupling.recv(code=coupling.DRIVER)
    coupling.send(f"life {life}", code="air")
assert mailbox()._mail_to.__self__._wire.mail_to("0:0:0") is not None
coupling.recv(code=coupling.DRIVER)
"""


def test_the_end_of_an_incarnation_may_be_told_when_the_next_one_is_connected(
    steer: Callable[..., Machine],
) -> None:
    machine = steer(air=FIRST_AIR, sea=SEA)
    air, sea, registry = machine.code("air"), machine.code("sea"), machine._codes.registry
    assert sea.messages.recv(timeout=60) == 1
    sea.messages.send("go on")
    assert air.messages.recv(timeout=60) == "life 1"
    news_to, held = registry._news_to, Held()
    registry._news_to = lambda rank: held if rank == "0:1:0" else news_to(rank)
    air.control.kill()
    air.control.start()
    assert sea.messages.recv(timeout=60) == 2
    registry._news_to = news_to
    told = [one for one, _ in held.calls]
    assert told[told.index("rank_ended") :] == [
        "rank_ended",
        "ended",
        "began",
    ]  # "here" may still have been on its way
    for operation, args in held.calls:
        getattr(news_to("0:1:0"), operation)(*args)
    sea.messages.send("go on")
    assert air.messages.recv(timeout=60) == "life 2"
    sea.messages.send("end")
    assert sea.control.wait(60) == {0: 0}


class Held:
    """Keeps what is told to a rank that is slow to hear it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[object, ...]]] = []

    def __getattr__(self, operation: str) -> Callable[..., None]:
        return lambda *args: self.calls.append((operation, args))


def test_a_front_end_reaches_nothing_of_other_clusters_but_what_it_is_bound_to(
    steer: Callable[..., Machine],
) -> None:
    machine = steer(air=AIR, sea=AIR)
    assert machine.code("air").messages.recv(timeout=60) == "here"
    executor = machine._executor
    assert executor is not None
    air = "/grid/site0/cluster0"
    for path, interface, client in (
        (f"{air}/wrapper0", "control", ""),
        (f"{air}/wrapper0", "views", "/grid/site0/cluster1/clustering.views-down"),
        (f"{air}/clustering", "health", "/grid/site0/cluster1/clustering.health"),
        (f"{air}/clustering", "views", "/grid/site0/clustering.views-down"),  # that is 0:0's
        (f"{air}/clustering", "lifecycle-controller", "/grid/site0/cluster1/clustering.x"),
        ("/app/clerk", "work", ""),  # components are called from where there are some
        ("/nodes/site0/cluster0/node0", "node", ""),
        (LAUNCHER, "@blocks", ""),
        ("/ranks/0:0:0", "mail", "0:0:0"),
        ("/ranks/0:0:0", "mail", DRIVER),
        ("/ranks/0:0:0", "coupling-news", LAUNCHER),
    ):
        with pytest.raises(TransportError, match="0:1 (may not call|calls)"):
            executor.router.onward("0:1", Target(path, interface, "any", client))
    mail = Target("/ranks/0:0:0", "mail", "deliver", "0:1:0")
    assert executor.router.onward("0:1", mail) is executor._table["0:0"].channel
    for code in ("air", "sea"):
        machine.code(code).messages.send("go on")
        assert machine.code(code).control.wait(60) == {0: 0}
