"""Components in several real processes: calls, collective calls, failures, callbacks."""

from __future__ import annotations

import os
import threading
import time
from typing import Annotated, Any

import pytest

from gcm import Cardinality, active, primitive, provides, requires, submit
from gcm.errors import (
    InstantiationError,
    MulticastError,
    NoSuchComponentError,
    NoSuchInterfaceError,
)
from runtime.hosting.other_node import NODE
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed, RemoteTraceback
from runtime.transport.lean import dial
from tests.integration.hosting.conftest import Launcher
from tests.integration.hosting.hosted_parts import Chief, Team, Teller, Worker, peak_bytes

LONG = 20.0


class Caller:
    down: Annotated[Team, requires(cardinality=Cardinality.MULTICAST)]


@provides("teller", Teller)
class Ear:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def tell(self, line: str) -> str:
        self.heard.append(line)
        return f"heard in {os.getpid()}"


def test_a_client_here_calls_a_server_there(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    launcher.make(node, "/app/worker", "Worker", label="ann", size=3)
    launcher.ask("/app/worker", "lifecycle-controller", "start")
    chief = primitive(Chief)
    chief.bind("work", launcher.host.find("/app/worker", "work"))
    chief.start()
    doubled, there, here = chief.content.run(21)
    assert (doubled, here) == (42, os.getpid())
    assert there == launcher.processes["/node1"].pid
    assert launcher.ask("/app/worker", "work", "settings") == ("ann", 3)


def test_a_client_there_calls_a_server_in_a_third_process(launcher: Launcher) -> None:
    one, two = launcher.start("/node1", "/node2")
    launcher.worker(two, "/app/worker")
    launcher.make(one, "/app/chief", "Chief")
    worker = launcher.host.find("/app/worker", "work")
    launcher.ask("/app/chief", "binding-controller", "bind", "work", worker)
    launcher.ask("/app/chief", "lifecycle-controller", "start")
    before = two.channel.received_bytes
    doubled, worker_pid, chief_pid = launcher.ask("/app/chief", "run", "run", 4)
    assert doubled == 8
    assert worker_pid == launcher.processes["/node2"].pid
    assert chief_pid == launcher.processes["/node1"].pid
    assert two.channel.received_bytes > before  # it went through here

    assert launcher.ask("/node1", "node", "reach", two.address, "/node2", ["/app/worker"])
    relayed = two.channel.received_bytes
    assert launcher.ask("/app/chief", "run", "run", 5)[0] == 10
    assert two.channel.received_bytes == relayed  # and now it does not


def test_what_cannot_be_dialled_is_left_to_the_detour(launcher: Launcher) -> None:
    launcher.start("/node1")
    assert not launcher.ask("/node1", "node", "reach", "unix:/nobody/listens", "/node2", ["/app/x"])


def test_a_multicast_client_calls_all_servers_at_the_same_time(launcher: Launcher) -> None:
    nodes = launcher.start("/node1", "/node2")
    workers = [launcher.worker(node, f"/app/w{n}") for n, node in enumerate(nodes)]
    caller = primitive(Caller)
    for n in range(2):
        caller.bind("down", launcher.host.find(f"/app/w{n}", "work"))
    caller.start()
    pids = [process.pid for process in launcher.processes.values()]
    assert caller.content.down.pid() == pids
    held = submit(workers[0].hold)
    both = threading.Thread(target=caller.content.down.hold)
    both.start()
    workers[1].let_go()
    assert not held.done()
    workers[0].let_go()
    both.join(LONG)
    assert not both.is_alive()
    assert held.result(LONG) == "let go"


def test_failures_of_a_multicast_call_name_the_servers(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    launcher.worker(node, "/app/w")
    caller = primitive(Caller)
    caller.bind("down", launcher.host.find("/app/w", "work"))
    caller.start()
    with pytest.raises(MulticastError, match=r"/app/w\.work: LookupError: .*deep inside") as caught:
        caller.content.down.fail()
    assert isinstance(caught.value.failures[0][1].__cause__, RemoteTraceback)


def test_a_gathercast_server_gathers_clients_of_several_processes(launcher: Launcher) -> None:
    one, two = launcher.start("/node1", "/node2")
    launcher.make(one, "/app/adder", "Adder")
    launcher.ask("/app/adder", "lifecycle-controller", "start")
    adder = launcher.host.find("/app/adder", "sum")
    for number, node in enumerate((one, two)):
        path = launcher.make(node, f"/app/c{number}", "Client")
        launcher.ask(path, "binding-controller", "bind", "sum", adder)
        launcher.ask(path, "lifecycle-controller", "start")
    stubs = [launcher.stub(f"/app/c{number}", "run") for number in range(2)]
    futures = [submit(stub.run, number + 10) for number, stub in enumerate(stubs)]
    results = [future.result(LONG) for future in futures]
    assert [result for result, _ in results] == [[10, 11], [10, 11]]
    assert len({pid for _, pid in results}) == 2
    clients = launcher.ask("/app/adder", "gathercast-controller", "clients", "sum")
    assert clients == ["/app/c0.sum", "/app/c1.sum"]


def test_a_gathercast_round_goes_on_without_a_process_that_died(launcher: Launcher) -> None:
    one, two = launcher.start("/node1", "/node2")
    launcher.make(one, "/app/adder", "Adder")
    launcher.ask("/app/adder", "lifecycle-controller", "start")
    adder = launcher.host.find("/app/adder", "sum")
    assert launcher.ask("/node2", "node", "reach", one.address, "/node1", ["/app/adder"])
    for number, node in enumerate((one, two)):
        path = launcher.make(node, f"/app/c{number}", "Client")
        launcher.ask(path, "binding-controller", "bind", "sum", adder)
        launcher.ask(path, "lifecycle-controller", "start")
    stub = launcher.stub("/app/c0", "run")
    waiting = submit(stub.run, 1)
    launcher.processes["/node2"].kill()
    assert waiting.result(LONG)[0] == [1]


def test_a_remote_exception_keeps_its_traceback(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    worker = launcher.worker(node, "/app/worker")
    with pytest.raises(LookupError, match="deep inside the worker") as caught:
        worker.fail()
    cause = str(caught.value.__cause__)
    assert "Remote traceback of /node1" in cause
    assert "hosted_parts.py" in cause
    assert 'raise LookupError("deep inside the worker")' in cause


def test_a_process_killed_during_a_call_fails_it_with_all_names(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    worker = launcher.worker(node, "/app/worker")
    began = time.monotonic()
    with pytest.raises(ChannelClosed) as caught:
        worker.die()
    assert time.monotonic() - began < 15
    assert "/node1: the connection ended" in str(caught.value)
    assert "/app/worker.work.die" in str(caught.value)
    with pytest.raises(ChannelClosed, match="nothing leads to /app/worker.work.pid any more"):
        worker.pid()


def test_a_call_that_another_process_relays_fails_when_its_end_dies(launcher: Launcher) -> None:
    one, two = launcher.start("/node1", "/node2")
    launcher.worker(two, "/app/worker")
    launcher.make(one, "/app/chief", "Chief")
    worker = launcher.host.find("/app/worker", "work")
    launcher.ask("/app/chief", "binding-controller", "bind", "work", worker)
    launcher.ask("/app/chief", "lifecycle-controller", "start")
    launcher.processes["/node2"].kill()
    launcher.processes["/node2"].wait(LONG)
    with pytest.raises(ChannelClosed, match="/node2") as caught:
        launcher.ask("/app/chief", "run", "run", 1)
    assert "/app/worker.work.double" in str(caught.value)


def test_a_stub_passed_as_an_argument_is_called_back(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    worker = launcher.worker(node, "/app/worker")
    ear = active(Ear)
    ear.start()
    stub = ear.stub("teller", Teller)
    assert worker.report_to(stub, "news") == f"heard in {os.getpid()}"
    assert ear.content.heard == [f"news from {launcher.processes['/node1'].pid}"]
    ear.stop()
    ear.terminate()


def test_a_stub_comes_home_as_itself(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    worker = launcher.worker(node, "/app/worker")
    ear = primitive(Ear)
    stub = ear.stub("teller", Teller)
    assert worker.give_back(stub) is stub
    launcher.publish("/app/ear", ear)
    assert worker.give_back(stub) is stub


def test_what_is_not_there_is_refused_at_once_with_a_hint(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    launcher.worker(node, "/app/worker")
    launcher.host.routes.add("/app/worked", node.channel)
    with pytest.raises(NoSuchComponentError, match="did you mean '/app/worker'"):
        launcher.host.find("/app/worked", "work")
    with pytest.raises(NoSuchInterfaceError, match="did you mean 'work'"):
        launcher.host.find("/app/worker", "wrok")
    with pytest.raises(NoSuchInterfaceError, match="did you mean 'double'"):
        launcher.ask("/app/worker", "work", "duble", 1)


def test_content_that_is_not_there_is_refused(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    with pytest.raises(InstantiationError, match="did you mean 'Worker'"):
        launcher.ask(node.home, NODE, "load", f"{Worker.__module__}:Wroker", "/app/w")


def test_a_large_array_crosses_without_extra_copies(launcher: Launcher) -> None:
    numpy = pytest.importorskip("numpy")
    (node,) = launcher.start("/node1")
    worker = launcher.worker(node, "/app/worker")
    _, before = worker.total(numpy.ones(1))
    array = numpy.ones(8 << 20)  # 64 MiB
    own = peak_bytes()
    total, after = worker.total(array)
    assert total == len(array)
    assert after - before < array.nbytes + (8 << 20)
    assert peak_bytes() - own < 8 << 20


def test_a_remote_component_is_reconfigured_under_load(launcher: Launcher) -> None:
    one, two = launcher.start("/node1", "/node2")
    for number, node in enumerate((one, two)):
        launcher.worker(node, f"/app/w{number}")
    launcher.make(one, "/app/chief", "Chief")
    ends = [launcher.host.find(f"/app/w{number}", "work") for number in range(2)]
    launcher.ask("/app/chief", "binding-controller", "bind", "work", ends[0])
    launcher.ask("/app/chief", "lifecycle-controller", "start")
    stub = launcher.stub("/app/chief", "run")
    answers: list[Any] = []
    enough = threading.Event()

    def load() -> None:
        number = 0
        while not enough.is_set():
            answers.append((number, stub.run(number)))
            number += 1

    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(1, 7):
        seen = len(answers)
        launcher.ask("/app/chief", "lifecycle-controller", "stop")
        launcher.ask("/app/chief", "binding-controller", "unbind", "work")
        launcher.ask("/app/chief", "binding-controller", "bind", "work", ends[turn % 2])
        launcher.ask("/app/chief", "lifecycle-controller", "start")
        assert stub.run(0)[1] == launcher.processes[f"/node{turn % 2 + 1}"].pid
        assert len(answers) >= seen
    enough.set()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()
    assert all(result[0] == 2 * number for number, result in answers)
    assert {result[1] for _, result in answers} == {p.pid for p in launcher.processes.values()}


def test_requests_of_one_client_to_an_active_object_keep_their_order(launcher: Launcher) -> None:
    (node,) = launcher.start("/node1")
    launcher.make(node, "/app/counter", "Counter", kind="active")
    launcher.ask("/app/counter", "lifecycle-controller", "start")
    stub = launcher.stub("/app/counter", "numbers")
    futures = [submit(stub.next) for _ in range(200)]
    assert [future.result(LONG) for future in futures] == list(range(1, 201))
    launcher.ask("/app/counter", "lifecycle-controller", "stop")


@pytest.mark.parametrize("home", ["/", "//", "", "launcher", "/launcher", "/launcher/inside"])
def test_nobody_is_let_in_whose_home_is_that_of_this_process_or_of_all(
    launcher: Launcher, home: str, caplog: pytest.LogCaptureFixture
) -> None:
    known = Credentials(launcher.secret, home)
    made, _, _ = dial(launcher.address, known)
    made.settimeout(LONG)
    assert made.recv(1) == b""
    made.close()
    assert "was refused: that is no home of another process" in caplog.text
