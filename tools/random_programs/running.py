"""Doing the steps of a program on a real MPI, and writing down what is seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpi4py import MPI

from tools.random_programs.datatypes import Datatypes, spec
from tools.random_programs.exchanges import View, view_of
from tools.random_programs.layouts import UNTOUCHED, Bytes, memory
from tools.random_programs.model import sent_memory, sent_object, written_view
from tools.random_programs.payload import received
from tools.random_programs.program import Program, Step
from tools.random_programs.running_collectives import start_collective

PAUSE = 0.0002
"""Seconds between two looks at something that is not there yet."""

Finish = Callable[[Any, MPI.Status], str | None]


@dataclass
class Open:
    """A request that is not complete yet, and what to write down once it is."""

    request: Any
    finish: Finish
    is_object: bool


class Runner:
    """One rank of a program: its communicators, requests and what it has seen."""

    def __init__(self, program: Program, world: MPI.Intracomm) -> None:
        self.rank = world.Get_rank()
        self.lines: list[str] = []
        self.now = "nothing yet"
        self._program = program
        self._comms: dict[str, Any] = {"world": world}
        self._open: dict[str, Open] = {}
        self._channels: dict[str, tuple[Any, Bytes]] = {}
        self._kinds = Datatypes()
        self._does: dict[str, Callable[[Step], list[str | None] | None]] = {
            "send": self._send,
            "receive": self._receive,
            "receive_any": self._receive_any,
            "sendrecv": self._sendrecv,
            "nothing": self._nothing,
            "cancel": self._cancel,
            "persistent": self._persistent,
            "start": self._start,
            "free": self._free,
            "complete": self._complete,
            "collective": self._collective,
            "communicator": self._communicator,
        }

    def do(self, number: int, step: Step) -> None:
        """Do one step and write down what it shows."""
        self.now = f"event {number}: {step}"
        for line in self._does[step["op"]](step) or ():
            if line is not None:
                self.lines.append(f"{number} {step['op']}: {line}")

    def close(self) -> None:
        """Free what was made."""
        self._kinds.close()

    # -------------------------------------------------------------------------------- messages

    def _message(self, name: str) -> tuple[dict[str, Any], Any]:
        message = self._program.messages[name]
        return message, self._comms[message["comm"]]

    def _outgoing(self, message: dict[str, Any]) -> Any:
        if message["object"]:
            return sent_object(message)
        return spec(sent_memory(message), message["items"], self._kinds.of(message["layout"]))

    def _landing(self, message: dict[str, Any]) -> tuple[Bytes, list[object]]:
        layout, items = message["receive_layout"], message["capacity"]
        image = memory(layout, items)
        return image, spec(image, items, self._kinds.of(layout))

    def _send(self, step: Step) -> None:
        message, comm = self._message(step["message"])
        data = self._outgoing(message)
        request = getattr(comm, step["mode"])(data, dest=message["dest"], tag=message["tag"])
        if "request" in step:
            self._open[step["request"]] = Open(request, lambda *_: None, message["object"])

    def _receive(self, step: Step) -> list[str | None]:
        message, comm = self._message(step["message"])
        source = MPI.ANY_SOURCE if step["any_source"] else message["source"]
        tag = MPI.ANY_TAG if step["any_tag"] else message["tag"]
        image, into = (None, None) if message["object"] else self._landing(message)
        is_object, mode, status = message["object"], step["mode"], MPI.Status()
        finish = _object_line if is_object else _line_of(image)
        if "request" in step:
            if mode == "Imrecv":
                matched = comm.mprobe(source, tag) if is_object else comm.Mprobe(source, tag)
                request = matched.irecv() if is_object else matched.Irecv(into)
            elif is_object:
                request = comm.irecv(source=source, tag=tag)
            else:
                request = comm.Irecv(into, source=source, tag=tag)
            self._open[step["request"]] = Open(request, finish, is_object)
            return []
        if "mprobe" in mode.lower():
            matched = _found(comm, mode, is_object, source, tag)
            data = matched.recv(status) if is_object else matched.Recv(into, status)
        else:
            if mode.endswith("probe"):
                _found(comm, mode, is_object, source, tag)
            if is_object:
                data = comm.recv(None, source, tag, status)
            else:
                data = comm.Recv(into, source, tag, status)
        return [finish(data, status)]

    def _receive_any(self, step: Step) -> list[str | None]:
        """Receive from whoever comes; what each sender sent is in order, the senders are not."""
        seen: list[tuple[int, str | None]] = []
        for name in step["messages"] if step["mode"] != "Irecv" else ():
            status = MPI.Status()
            one: Step = {"any_source": True, "any_tag": step["any_tag"], "mode": step["mode"]}
            line = self._receive_with(name, one, status)
            seen.append((status.source, line))
        if step["mode"] == "Irecv":
            seen = self._receive_any_at_once(step)
        return [line for _, line in sorted(seen, key=lambda pair: pair[0])]

    def _receive_with(self, name: str, step: Step, status: MPI.Status) -> str | None:
        message, comm = self._message(name)
        tag = MPI.ANY_TAG if step["any_tag"] else message["tag"]
        if message["object"]:
            return _object_line(comm.recv(None, MPI.ANY_SOURCE, tag, status), status)
        image, into = self._landing(message)
        if step["mode"] == "Mprobe":
            comm.Mprobe(MPI.ANY_SOURCE, tag).Recv(into, status)
        else:
            comm.Recv(into, MPI.ANY_SOURCE, tag, status)
        return _line_of(image)(None, status)

    def _receive_any_at_once(self, step: Step) -> list[tuple[int, str | None]]:
        landings, requests = [], []
        for name in step["messages"]:
            message, comm = self._message(name)
            tag = MPI.ANY_TAG if step["any_tag"] else message["tag"]
            image, into = self._landing(message)
            landings.append(image)
            requests.append(comm.Irecv(into, MPI.ANY_SOURCE, tag))
        statuses = [MPI.Status() for _ in requests]
        MPI.Request.Waitall(requests, statuses)
        return [
            (status.source, _line_of(image)(None, status))
            for image, status in zip(landings, statuses, strict=True)
        ]

    def _sendrecv(self, step: Step) -> list[str | None]:
        out, comm = self._message(step["send"])
        back, _ = self._message(step["receive"])
        status = MPI.Status()
        ends = {"dest": out["dest"], "sendtag": out["tag"]}
        ends |= {"source": back["source"], "recvtag": back["tag"]}
        data = self._outgoing(out)
        if out["object"]:
            return [_object_line(comm.sendrecv(data, status=status, **ends), status)]
        if step["replace"]:
            comm.Sendrecv_replace(data, status=status, **ends)
            return [_line_of(data[0])(None, status)]
        image, into = self._landing(back)
        comm.Sendrecv(data, recvbuf=into, status=status, **ends)
        return [_line_of(image)(None, status)]

    def _nothing(self, step: Step) -> list[str | None]:
        comm, status, image = self._comms[step["comm"]], MPI.Status(), bytearray(4)
        comm.Send(image, dest=MPI.PROC_NULL)
        comm.Recv(image, source=MPI.PROC_NULL, status=status)
        seen = (status.source, status.tag, status.count, comm.recv(source=MPI.PROC_NULL))
        right = seen == (MPI.PROC_NULL, MPI.ANY_TAG, 0, None)
        return ["nothing" if right else f"{seen} instead of nothing"]

    def _cancel(self, step: Step) -> list[str | None]:
        status = MPI.Status()
        request = self._comms[step["comm"]].Irecv(bytearray(8), step["source"], step["tag"])
        request.Cancel()
        request.Wait(status)
        return ["cancelled" if status.Is_cancelled() else "not cancelled"]

    # -------------------------------------------------------------------------------- requests

    def _persistent(self, step: Step) -> None:
        message, comm = self._message(step["message"])
        if step["end"] == "send":
            data = self._outgoing(message)
            request = getattr(comm, step["mode"])(data, message["dest"], message["tag"])
            self._channels[step["channel"]] = request, data[0]
            return
        image, into = self._landing(message)
        request = comm.Recv_init(into, message["source"], message["tag"])
        self._channels[step["channel"]] = request, image

    def _start(self, step: Step) -> None:
        request, image = self._channels[step["channel"]]
        message, _ = self._message(step["message"])
        image[:] = sent_memory(message) if step["end"] == "send" else UNTOUCHED
        if step["together"]:
            MPI.Prequest.Startall([request])
        else:
            request.Start()
        finish: Finish = (lambda *_: None) if step["end"] == "send" else _line_of(image)
        self._open[step["request"]] = Open(request, finish, is_object=False)

    def _free(self, step: Step) -> None:
        if "channel" in step:
            self._channels.pop(step["channel"])[0].Free()
        else:
            self._comms.pop(step["comm"]).Free()

    def _complete(self, step: Step) -> list[str | None]:
        waiting = [self._open.pop(name) for name in step["requests"]]
        return complete(step["how"], waiting)

    # ----------------------------------------------------------------------------- collectives

    def _collective(self, step: Step) -> list[str | None]:
        comm = self._comms[step["comm"]]
        request, finish = start_collective(step, comm, self._view(step["comm"]), self._kinds)
        if "request" not in step:
            return [finish(None, MPI.Status())]
        self._open[step["request"]] = Open(request, finish, is_object=False)
        return []

    def _view(self, name: str) -> View:
        return view_of(self._program.communicators[name], self.rank)

    def _communicator(self, step: Step) -> list[str | None]:
        comm = make_communicator(step, self._comms)
        lines: list[str | None] = []
        for name in step["names"]:
            self._comms[name] = comm
            is_inter = comm.Is_inter()
            peers = comm.Get_remote_size() if is_inter else comm.Get_size()
            view = View(0, comm.Get_rank(), comm.Get_size(), peers, is_inter)
            lines.append(written_view(view))
        return lines


def make_communicator(step: Step, comms: dict[str, Any]) -> Any:
    """Make what a step asks for from its parent."""
    parent = comms[step["parent"]]
    match step["how"]:
        case "Idup":
            comm, request = parent.Idup()
            request.Wait()
            return comm
        case "Split":
            color = MPI.UNDEFINED if step["color"] is None else step["color"]
            return parent.Split(color, step["key"])
        case "Create" | "Create_group":
            whole = parent.Get_group()
            chosen = whole.Incl(step["ranks"])
            comm = getattr(parent, step["how"])(chosen)
            chosen.Free()
            whole.Free()
            return comm
        case "Create_intercomm":
            local = comms[step["local"]]
            return local.Create_intercomm(0, parent, step["leader"], step["tag"])
        case "Create_cart":
            return parent.Create_cart(step["dims"], step["periods"])
        case "Create_dist_graph_adjacent":
            return parent.Create_dist_graph_adjacent(step["sources"], step["destinations"])
        case "Merge":
            return parent.Merge(step["high"])
        case how:
            return getattr(parent, how)()


def complete(how: str, waiting: list[Open]) -> list[str | None]:
    """Complete requests in one of the ways there are; return what they show in their order."""
    requests = [one.request for one in waiting]
    statuses = [MPI.Status() for _ in waiting]
    objects: list[Any] = [None] * len(waiting)
    lower = any(one.is_object for one in waiting)
    if how == "each":
        for index, one in enumerate(waiting):
            wait = one.request.wait if one.is_object else one.request.Wait
            objects[index] = wait(statuses[index])
    elif how in ("Waitall", "Testall"):
        _all_at_once(how, lower, requests, statuses, objects)
    else:
        _one_by_one(how, lower, requests, statuses, objects)
    shown = zip(waiting, objects, statuses, strict=True)
    return [one.finish(data, status) for one, data, status in shown]


def _all_at_once(
    how: str,
    lower: bool,
    requests: list[Any],
    statuses: list[MPI.Status],
    objects: list[Any],
) -> None:
    call = getattr(MPI.Request, how.lower() if lower else how)
    answer = call(requests, statuses)
    if how == "Testall":
        while not (answer[0] if lower else answer):
            time.sleep(PAUSE)
            answer = call(requests, statuses)
        answer = answer[1] if lower else None
    if lower:
        objects[:] = answer


def _one_by_one(
    how: str,
    lower: bool,
    requests: list[Any],
    statuses: list[MPI.Status],
    objects: list[Any],
) -> None:
    left = set(range(len(requests)))
    call = getattr(MPI.Request, how.lower() if lower else how)
    while left:
        some = [MPI.Status() for _ in requests]
        answer = call(requests, some) if how.endswith("some") else call(requests, some[0])
        found, data = _indices(how, lower, answer)
        for place, index in enumerate(found):
            left.remove(index)
            statuses[index] = some[place]
            objects[index] = data[place] if data else None
        if not found:
            time.sleep(PAUSE)


def _indices(how: str, lower: bool, answer: Any) -> tuple[list[int], list[Any]]:
    """Return which requests are complete, with their objects."""
    match how, lower:
        case "Waitany", True:
            index, data = answer
            return [index], [data]
        case "Waitany", False:
            return [answer], []
        case "Testany", True:
            index, flag, data = answer
            return ([index], [data]) if flag else ([], [])
        case "Testany", False:
            index, flag = answer
            return ([index], []) if flag else ([], [])
        case _, True:
            indices, data = answer
            return (indices, data) if indices else ([], [])
        case _:
            return answer or [], []


def _found(comm: Any, mode: str, is_object: bool, source: int, tag: int) -> Any:
    """Wait in the way of `mode` until a message is there; return what was matched."""
    name = mode.lower() if is_object else mode
    while not (found := getattr(comm, name)(source, tag)):
        time.sleep(PAUSE)
    return found


def _object_line(data: Any, status: MPI.Status) -> str:
    return received(status.source, status.tag, data)


def _line_of(image: Any) -> Finish:
    return lambda _, status: received(status.source, status.tag, image, status.count)
