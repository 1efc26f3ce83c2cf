"""The supervisor beside every launcher: it starts commands and ends them all when its pipe closes.

Its source travels through the pipe itself (see `runtime.launchers.bootstrap`), so that a host needs
nothing but Python. It runs alone in its process, imports as little as it can because every run
waits for it, and sleeps in `poll` as long as nothing happens.
"""

from __future__ import annotations

import os
import select
import sys
import time

from runtime.launchers import contents, family, segments, spawning, wire

TYPE_CHECKING = False  # known to type checkers; importing `typing` would take longer than the rest
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GRACE = 2.0  # seconds between the polite and the final end of a family
PATIENCE = 6.0  # seconds for guards on other hosts to end what is theirs
ENDS_WITHIN = 0.2  # seconds that what was killed gets to let go of its memory
FOREVER = float("inf")
LOOK_AGAIN = 0.05  # seconds between two looks at a family that has been asked to end
MARK = "GCM_GUARD_COMMAND"  # names the command in its environment, however far a child wanders


class Guard:
    """The loop between the launcher's pipe and the commands."""

    def __init__(
        self,
        source: int,
        sink: int,
        programs: dict[bytes, Callable[[], int]] | None = None,
        python: str = sys.executable,
    ) -> None:
        self.source = source
        self.sink = sink
        self.python = python
        self.programs = programs or {}  # what is loaded, and needs no other process image
        self.buffer = bytearray()
        self.poll = select.poll()
        self.ready: dict[int, Callable[[int], None]] = {}
        self.children: dict[int, spawning.ChildProcess] = {}
        self.rooms: list[str] = []
        self.sealed: dict[str, contents.Sealed] = {}
        self.secret = os.urandom(8).hex()
        self.began = time.time()
        self.home = os.open(".", os.O_RDONLY)
        self.open = True
        self.lease = 0.0  # seconds of silence after which the launcher counts as gone; 0: never
        self.heard = 0.0
        self.actions: dict[bytes, Callable[[int, bytes], None]] = {
            wire.START: self.start,
            wire.DATA: self.data,
            wire.CLOSE: self.close,
            wire.SIGNAL: self.signal,
            wire.MAKE_ROOM: self.make_room,
            wire.DROP_ROOM: self.drop_room,
            wire.SEAL: self.seal,
            wire.PING: self.ping,
            wire.REPEAT: self.repeat,
            wire.END: self.leave,
        }

    # --- the loop -----------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until the launcher's end of the pipe closes, then end everything."""
        self.watch(self.source, select.POLLIN, self.receive)
        self.send_hello()
        try:
            self.step()
            # In the shadow of the first command's own start: a third of the guard's start-up time.
            self.watch(catch_signals(), select.POLLIN, self.wake)
            self.tend()
            while self.open:
                self.step()
        finally:
            self.end()

    def step(self) -> None:
        """Wait for the next event and act on it."""
        self.obey()  # what was heard while something was written
        wait = self.time_left()
        if any(child.status is not None for child in self.children.values()):
            wait = LOOK_AGAIN
        for descriptor, _ in self.poll.poll(None if wait == FOREVER else wait * 1000):
            action = self.ready.get(descriptor)
            if action is not None:
                action(descriptor)
        self.tend()
        self.check_lease()

    def time_left(self) -> float:
        """Return in how many seconds something is due."""
        wait = self.repeat_due()
        if not self.lease:
            return wait
        return min(wait, max(0.0, self.heard + self.lease - time.monotonic()))

    def check_lease(self) -> None:
        """End where nothing was heard from the launcher for too long."""
        if self.open and self.lease and time.monotonic() > self.heard + self.lease:
            self.open = False
            words = (
                f"nothing was heard from the launcher for {self.lease:g} s, so all was ended here"
            )
            os.write(2, f"gcm-guard: {words}\n".encode())

    def watch(self, descriptor: int, events: int, action: Callable[[int], None]) -> None:
        """Call `action` whenever the descriptor is ready."""
        self.ready[descriptor] = action
        self.poll.register(descriptor, events)

    def unwatch(self, descriptor: int) -> None:
        """Stop watching a descriptor, if it is watched."""
        if self.ready.pop(descriptor, None) is not None:
            self.poll.unregister(descriptor)

    def drop(self, descriptor: int) -> None:
        """Stop watching a descriptor and close it."""
        self.unwatch(descriptor)
        os.close(descriptor)

    def send(self, kind: bytes, number: int, payload: bytes = b"") -> None:
        """Write one message to the launcher; a launcher that is gone ends the loop."""
        view = memoryview(wire.frame(kind, number, payload))
        while view and self.open:
            try:
                view = view[os.write(self.sink, view) :]
            except BlockingIOError:  # a launcher that is stopped reads nothing, and is not gone
                self.await_room()
            except OSError:
                self.open = False

    def await_room(self) -> None:
        """Wait until more can be written; with a lease, hear that the launcher lives meanwhile."""
        wait, room = self.time_left(), select.poll()
        room.register(self.sink, select.POLLOUT)
        if self.lease:
            room.register(self.source, select.POLLIN)
        for descriptor, _ in room.poll(None if wait == FOREVER else wait * 1000):
            if descriptor == self.source:
                self.read()
        self.check_lease()

    def read(self) -> None:
        """Read what the launcher asks."""
        data = os.read(self.source, wire.CHUNK)
        if not data:
            self.open = False
        self.heard = time.monotonic()
        self.buffer += data

    def receive(self, _: int) -> None:
        """Read what the launcher asks and do it."""
        self.read()
        self.obey()

    def obey(self) -> None:
        """Do what the launcher has asked; meanwhile it is not the launcher that is silent."""
        for kind, number, payload in wire.frames(self.buffer):
            begun = time.monotonic()
            self.actions[kind](number, payload)
            now = time.monotonic()
            self.heard = min(now, self.heard + now - begun)

    def wake(self, descriptor: int) -> None:
        """A signal came: the end of a child is looked after anyway, any other ends the guard."""
        import signal

        if set(os.read(descriptor, wire.CHUNK)) - {signal.SIGCHLD}:
            self.open = False

    def send_hello(self) -> None:
        """Tell the launcher where it has arrived."""
        version = ".".join(map(str, sys.version_info[:3]))
        me = os.getuid(), os.getpid(), os.uname().nodename
        facts = (wire.PROTOCOL, version, self.python, *me)
        self.send(wire.HELLO, 0, "\0".join(map(str, facts)).encode())

    def refuse(self, number: int, fault: OSError) -> None:
        """Tell the launcher what could not be done."""
        facts = fault.errno or 0, fault.strerror or fault, _text(fault.filename)
        self.send(wire.FAILED, number, "\0".join(map(str, facts)).encode(errors="replace"))

    # --- what the launcher asks ---------------------------------------------------------------

    def start(self, number: int, payload: bytes) -> None:
        """Start a command: working directory, count and list of arguments, settings."""
        cwd, count, *rest = payload.split(b"\0")
        argv, settings = rest[: int(count)], rest[int(count) :]
        environment = dict(os.environb)
        for setting in settings:
            name, given, value = setting.partition(b"=")
            environment.pop(name, None)
            if given:
                environment[name] = value
        environment[MARK.encode()] = f"{self.secret}.{number}".encode()
        try:
            if argv[0] in self.programs:
                child = spawning.part(number, self.programs[argv[0]], environment, cwd, self.home)
            else:
                child = spawning.spawn(number, argv, environment, cwd, self.home)
        except OSError as fault:
            self.refuse(number, fault)
            return
        child.is_guard = any(b"gcm-guard" in word for word in argv)
        for descriptor in child.outputs:
            self.watch(descriptor, select.POLLIN, lambda fd: self.relay(child, fd))
        self.children[number] = child
        self.send(wire.STARTED, number, str(child.pid).encode())

    def data(self, number: int, payload: bytes) -> None:
        """Pass bytes on to the command's stdin."""
        child = self.children.get(number)
        if child is not None:
            child.pending += payload
            self.feed(child)

    def close(self, number: int, _: bytes) -> None:
        """Close the command's stdin behind what is still to be written."""
        child = self.children.get(number)
        if child is not None:
            child.closing = True
            self.feed(child)

    def signal(self, number: int, payload: bytes) -> None:
        """Signal the process, its group or its whole family."""
        child = self.children.get(number)
        if child is None:
            return
        scope, which = payload[:1], int(payload[1:])
        pids = self.kin(child) if scope == wire.TREE else set()
        if child.status is None:  # or its number may be another's by now
            pids.add(child.pid)
        group = {-child.pid} if pids and scope == wire.GROUP else set()
        if which == family.KILL:
            child.shared |= end_with(pids, which, group)
        else:
            child.shared |= shared_by(pids)
            family.send_signal(group or pids, which)

    def make_room(self, number: int, payload: bytes) -> None:
        """Make a private folder that lasts as long as the guard: parent and beginning of a name."""
        asked, name = map(os.fsdecode, payload.split(b"\0"))
        parent = asked or os.environ.get("TMPDIR") or "/tmp"
        path = os.path.join(parent, name + os.urandom(8).hex())
        try:
            os.mkdir(path, 0o700)
        except OSError as fault:
            self.refuse(number, fault)
            return
        self.rooms.append(path)
        self.send(wire.ROOM, number, os.fsencode(path))

    def drop_room(self, _: int, payload: bytes) -> None:
        """Remove such a folder before the end, whatever is in it."""
        path = os.fsdecode(payload)
        if path in self.rooms:
            self.rooms.remove(path)
            self.sealed.pop(path, None)
            family.remove_tree(path)

    def seal(self, number: int, payload: bytes) -> None:
        """Record what is in a folder, so that in the end it stays if there are results in it."""
        import json

        path, rules = json.loads(payload)
        try:
            found = contents.scan(path, contents.ignores(rules))
        except OSError as fault:
            self.refuse(number, fault)
            return
        self.sealed[path] = found, rules
        self.send(wire.SEALED, number, contents.packed(found))

    def leave(self, _: int, __: bytes) -> None:
        """End, as when the pipe closes, for a connection that cannot be closed in one direction."""
        self.open = False

    def ping(self, _: int, payload: bytes) -> None:
        """The launcher lives, and will say so again within this many seconds."""
        self.lease = float(payload)

    def repeat(self, number: int, payload: bytes) -> None:
        """Write something to a command every so many seconds, whatever the launcher does."""
        child = self.children.get(number)
        if child is not None:
            seconds, _, child.repeated = payload.partition(b"\0")
            child.repeat_every = float(seconds)
            child.repeat_at = time.monotonic() + child.repeat_every

    def repeat_due(self) -> float:
        """Write what is due, and return in how many seconds something will be."""
        now, wait = time.monotonic(), FOREVER
        for child in self.children.values():
            if not child.repeated or child.stdin is None or child.closing:
                continue
            is_due = now >= child.repeat_at
            if is_due:
                child.repeat_at = now + child.repeat_every
            wait = min(wait, child.repeat_at - now)
            if (
                not is_due or child.pending
            ):  # in the middle of something else it would be no message
                continue
            try:
                os.write(child.stdin, child.repeated)  # so short that it is all or nothing
            except OSError:
                continue  # it has more than enough to read, or is gone
        return wait

    # --- what the commands do -----------------------------------------------------------------

    def feed(self, child: spawning.ChildProcess) -> None:
        """Write what the command takes now; the launcher gets credit for what it took."""
        if child.stdin is None:
            return
        try:
            written = os.write(child.stdin, child.pending) if child.pending else 0
        except BlockingIOError:
            written = 0
        except OSError:
            written = len(child.pending)  # it reads no more: what is left goes nowhere
            child.closing = True
        if written:
            del child.pending[:written]
            self.send(wire.CREDIT, child.number, str(written).encode())
        if child.pending:
            self.watch(child.stdin, select.POLLOUT, lambda _: self.feed(child))
        elif child.closing:
            self.drop(child.stdin)
            child.stdin = None
        else:
            self.unwatch(child.stdin)

    def relay(self, child: spawning.ChildProcess, descriptor: int) -> None:
        """Pass on what the command says."""
        data = os.read(descriptor, wire.CHUNK)
        if data:
            self.send(child.outputs[descriptor], child.number, data)
        else:
            del child.outputs[descriptor]
            self.drop(descriptor)

    def tend(self) -> None:
        """Collect the dead and see every command that has ended to its end."""
        by_pid = {child.pid: child for child in self.children.values() if child.status is None}
        for pid, status in collect_children():
            if pid in by_pid:
                by_pid[pid].status, by_pid[pid].ended_at = status, time.monotonic()
                self.begin_end(by_pid[pid])
        for child in list(self.children.values()):
            if child.status is not None:
                self.continue_end(child)

    def begin_end(self, child: spawning.ChildProcess) -> None:
        """The command's own process has ended: whatever it left behind is asked to end too."""
        left = self.kin(child)
        child.shared |= end_with(left, family.TERM)
        child.left_some = bool(left)
        child.kill_at = time.monotonic() + GRACE

    def continue_end(self, child: spawning.ChildProcess) -> None:
        """Report the command once it has said everything and left nobody behind."""
        child.left_some = child.left_some and bool(self.kin(child))
        if time.monotonic() >= child.kill_at:
            left = self.kin(child)
            child.shared |= end_with(left, family.KILL)
            family.await_ends(left, ENDS_WITHIN)
            for descriptor in [fd for fd in child.outputs if readable(fd)]:
                self.relay(child, descriptor)
            for descriptor in child.outputs:
                self.drop(descriptor)
            child.outputs.clear()
            child.left_some = False
        if child.outputs or child.left_some:
            return
        if child.stdin is not None:
            self.drop(child.stdin)
        orphaned = segments.orphaned_segments(self.began) if child.status else []
        segments.remove_segments((*child.shared, *orphaned))
        del self.children[child.number]
        self.send(wire.EXITED, child.number, f"{child.status} {child.ended_at!r}".encode())

    def kin(self, child: spawning.ChildProcess) -> set[int]:
        """Return what descends from the command, also once it left its parent and its session."""
        mark = f"{MARK}={self.secret}.{child.number}".encode()
        return family.kin(child.pid, mark)

    def end(self) -> None:
        """Ask everything below to end, then make it, then remove the rooms without results.

        A list of processes misses what one that ends just now has just started. That becomes a
        child of this one, so nothing is left only where there are no children either.

        Outputs are read no more once it is known what the processes share: one that writes ends
        then, and leaves that. What leads to another guard has time until that has ended what is
        there, and removed its rooms: some starters (`srun`) kill what they have started when they
        are asked to end.
        """
        forget_signals()
        patience = time.monotonic() + PATIENCE
        for child in self.children.values():
            if child.is_guard and child.stdin is not None:
                self.drop(child.stdin)
                child.stdin = None
        shared = {path for child in self.children.values() for path in child.shared}
        number, deadline, pause = family.TERM, time.monotonic() + GRACE, 0.001
        asked = self.everything() - self.other_guards()
        shared |= end_with(asked, number)
        for descriptor in list(self.ready):
            self.drop(descriptor)
        while (left := self.everything()) or family.has_children():
            now = time.monotonic()
            if now < patience:
                left = left - self.other_guards()
            if number == family.TERM and now > deadline:
                number, asked = family.KILL, set()
            elif now > max(deadline, patience) + GRACE:
                break  # nothing more can be done about what survives SIGKILL
            shared |= end_with(left - asked, number)
            asked |= left
            time.sleep(pause)  # the ends of what others have started cannot be waited for
            pause = min(2 * pause, 0.01)
        segments.remove_segments((*shared, *segments.orphaned_segments(self.began)))
        for room in self.rooms:
            if room not in self.sealed or not contents.keeps_results(room, *self.sealed[room]):
                family.remove_tree(room)

    def other_guards(self) -> set[int]:
        """Return what leads to guards on other hosts."""
        guards = [child for child in self.children.values() if child.is_guard]
        return {pid for child in guards for pid in (child.pid, *self.kin(child))}

    def everything(self) -> set[int]:
        """Return all that still runs below this process."""
        for pid, _ in collect_children():
            self.children = {n: child for n, child in self.children.items() if child.pid != pid}
        return family.everything({child.pid for child in self.children.values()})


def collect_children() -> Iterator[tuple[int, int]]:
    """Yield process and status of every child that ended, orphans included."""
    try:
        while (one := os.waitpid(-1, os.WNOHANG))[0]:
            yield one
    except ChildProcessError:
        return  # there are no children at all


def shared_by(pids: set[int]) -> set[str]:
    """Return the shared memory of MPI that processes have now, and leave when they are killed."""
    return {path for pid in pids for path in segments.mapped_segments(pid)}


def end_with(pids: set[int], number: int, group: set[int] | None = None) -> set[str]:
    """Send a signal that ends processes; return what they shared at that moment, and now leave.

    One that just starts its MPI makes its memory after that: it is orphaned, once it has ended.
    They are not stopped for the look: if who looks is killed then, they would stand still for ever.
    With a `group`, that gets the signal.
    """
    shared = shared_by(pids)
    family.send_signal(group or pids, number)
    return shared


def _text(name: object) -> str:
    return "" if name is None else os.fsdecode(name) if isinstance(name, bytes) else str(name)


def readable(descriptor: int) -> bool:
    """Tell whether a read returns at once."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def catch_signals() -> int:
    """Turn signals into bytes on a pipe and return its reading end."""
    import signal

    heard, raised = os.pipe()
    os.set_blocking(raised, False)
    signal.set_wakeup_fd(raised, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    return heard


def forget_signals() -> None:
    """Write no signals to that pipe any more."""
    import signal

    signal.set_wakeup_fd(-1)


def main() -> None:
    """Be a guard that says a marker; its arguments are the two halves, and what Python it was.

    That may be a script around a Python, which only its own name starts again.
    """
    first, second, *called = sys.argv[2:]
    is_path = bool(called) and "/" in called[0]
    serve(first + second, python=os.path.abspath(called[0]) if is_path else sys.executable)


def serve(
    marker: str,
    programs: dict[bytes, Callable[[], int]] | None = None,
    python: str = sys.executable,
) -> None:
    """Take over the pipe on stdin and stdout until it closes and everything has ended.

    `programs` are commands that this process has loaded: they run in copies of it. Commands are
    found as if the virtual environment of `python` was activated.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # a stray print must not look like a message
    path = os.environ.get("PATH", os.defpath)
    python, os.environ["PATH"] = spawning.activated(python, path)
    os.write(sink, f"\n{marker}\n".encode())
    os.set_blocking(sink, False)
    family.adopt_orphans()
    family.rename("gcm-guard")
    Guard(source, sink, programs, python).run()


if __name__ == "__main__":
    main()
