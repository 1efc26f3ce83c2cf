"""Messages of a C program between clusters, and what looks for them."""

# ruff: noqa: PLR0917 - the arguments are those of MPI

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from runtime.mpi.from_c.calls import Call, Calls, Prepared, blocking
from runtime.mpi.from_c.values import native_handle, write, write_status


class MessageCalls(Calls):
    """The functions for messages."""

    def table(self) -> dict[str, Call]:
        """Return them by their names."""
        made: dict[str, Call] = {}
        for name in ("Send", "Ssend", "Bsend", "Rsend"):
            made[f"MPI_{name}"] = blocking(name, self._send)
            made[f"MPI_I{name.lower()}"] = self._begun(f"I{name.lower()}", self._send, 6)
            made[f"MPI_{name}_init"] = self._begun(f"{name}_init", self._send, 6)
        return {
            **made,
            "MPI_Recv": self._recv,
            "MPI_Irecv": self._begun("Irecv", self._receive, 6),
            "MPI_Recv_init": self._begun("Recv_init", self._receive, 6),
            "MPI_Sendrecv": self._with_status("Sendrecv", self._exchange),
            "MPI_Isendrecv": self._begun("Isendrecv", self._exchange, 11),
            "MPI_Sendrecv_replace": self._with_status("Sendrecv_replace", self._replace),
            "MPI_Isendrecv_replace": self._begun("Isendrecv_replace", self._replace, 8),
            "MPI_Probe": self._probe,
            "MPI_Iprobe": self._iprobe,
            "MPI_Mprobe": self._mprobe,
            "MPI_Improbe": self._improbe,
            "MPI_Mrecv": self._mrecv,
            "MPI_Imrecv": self._imrecv,
        }

    def _send(self, buf: int, count: int, kind: int, dest: int, tag: int, comm: int) -> Any:
        return self._values.comm(comm), (self._values.message(buf, count, kind, dest), dest, tag)

    def _receive(self, buf: int, count: int, kind: int, source: int, tag: int, comm: int) -> Any:
        message = self._values.message(buf, count, kind, source)
        return self._values.comm(comm), (message, source, tag)

    def _recv(self, *words: int) -> int:
        comm, args = self._receive(*words[:6])
        status = MPI.Status() if words[6] else None
        try:
            comm.Recv(*args, status)
        finally:
            if status is not None:
                write_status(words[6], status)
        return 0

    def _exchange(
        self,
        sendbuf: int, sendcount: int, sendtype: int, dest: int, sendtag: int,
        recvbuf: int, recvcount: int, recvtype: int, source: int, recvtag: int, comm: int,
    ) -> tuple[Any, tuple[Any, ...]]:  # fmt: skip
        given = self._values.message(sendbuf, sendcount, sendtype, dest)
        taken = self._values.message(recvbuf, recvcount, recvtype, source)
        return self._values.comm(comm), (given, dest, sendtag, taken, source, recvtag)

    def _replace(
        self,
        buf: int, count: int, kind: int, dest: int, sendtag: int, source: int, recvtag: int,
        comm: int,
    ) -> tuple[Any, tuple[Any, ...]]:  # fmt: skip
        both = self._values.one(buf, count, kind)
        return self._values.comm(comm), (both, dest, sendtag, source, recvtag)

    def _with_status(self, name: str, prepare: Prepared) -> Call:
        """Return a call whose last argument is a status."""

        def call(*words: int) -> int:
            comm, args = prepare(*words[:-1])
            found = MPI.Status()
            getattr(comm, name)(*args, found)
            write_status(words[-1], found)
            return 0

        return call

    def _probe(self, source: int, tag: int, comm: int, status: int) -> int:
        found = MPI.Status()
        self._values.comm(comm).Probe(source, tag, found)
        write_status(status, found)
        return 0

    def _iprobe(self, source: int, tag: int, comm: int, flag: int, status: int) -> int:
        found = MPI.Status()
        is_there = self._values.comm(comm).Iprobe(source, tag, found)
        write(flag, int(is_there))
        if is_there:
            write_status(status, found)
        return 0

    def _mprobe(self, source: int, tag: int, comm: int, _message: int, status: int) -> int:
        found = MPI.Status()
        message = self._values.comm(comm).Mprobe(source, tag, found)
        write_status(status, found)
        return self._message(message)

    def _improbe(self, source: int, tag: int, comm: int, flag: int, _: int, status: int) -> int:
        found = MPI.Status()
        message = self._values.comm(comm).Improbe(source, tag, found)
        write(flag, int(message is not None))
        if message is None:
            return native_handle(MPI.MESSAGE_NULL)
        write_status(status, found)
        return self._message(message)

    def _mrecv(self, buf: int, count: int, kind: int, message: int, status: int) -> int:
        found = MPI.Status()
        self._requests.take(message).Recv(self._values.one(buf, count, kind), found)
        write_status(status, found)
        return 0

    def _imrecv(self, buf: int, count: int, kind: int, message: int, _request: int) -> int:
        return self._requests.keep(
            self._requests.take(message).Irecv(self._values.one(buf, count, kind))
        )

    def _message(self, message: MPI.Message) -> int:
        if message == MPI.MESSAGE_NO_PROC:
            return native_handle(MPI.MESSAGE_NO_PROC)
        return self._requests.keep(message)
