"""The life of a rank: tag the output, find the front-end, start MPI, wait for all, run, report."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from runtime.errors import GridError
from runtime.launchers.family import rename
from runtime.launchers.ranks import (
    rank_of_environment,
    read_from_pipe,
    run_below,
    tag_output,
    write_to_pipes,
)
from runtime.launchers.segments import MPICH, mapped_segments, remove_segments
from runtime.membership.run_directory import crash_file
from runtime.processes.rank.options import RankOptions

TYPE_CHECKING = False  # known to type checkers; importing `typing` would delay every rank
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from runtime.membership.bind_address import AdvertisedAddresses
    from runtime.membership.rank_link import RankLink
    from runtime.processes.rank.waits import RankWaits

GRACE = 3.0  # seconds between the polite and the final end of a rank whose front-end has gone
SIGTERM, SIGKILL = 15, 9


def main(words: list[str], *, is_child: bool = False) -> int:
    """Run as a rank; return its exit code.

    It `is_child` if the parent of this process will tell how it ends; else this becomes a parent.
    """
    options = RankOptions(words)
    rank = number_of(options)
    os.umask(options.umask)
    if not write_to_pipes(options.run_directory, rank, keeps=not options.has_manager):
        tag_output(
            rank,
            folder=options.run_directory,
            incarnation=options.incarnation,
            stays=options.stays,
        )
    elif not (is_child or options.has_manager):
        run_below(options.run_directory, rank, incarnation=options.incarnation, stays=options.stays)
    read_from_pipe(options.run_directory, rank)
    if options.shim:
        from runtime.processes.rank.c_program import become_program

        become_program(options, words)
    return run_here(options, rank)


def run_here(options: RankOptions, rank: int) -> int:
    """Be a rank in this process, whose output is where it should be; return its exit code."""
    from runtime.membership.rank_link import RankLink, remember

    name = f"{options.cluster}:{rank}"
    rename(f"rank {name}")  # all ranks have the same command line
    try:
        link = RankLink(options.run_directory, name, is_again=options.is_again)
    except Exception as error:  # whatever it is, the front-end waits and stderr is the only way
        print(f"this rank cannot reach its front-end: {error}", file=sys.stderr)
        return 1
    try:
        facts = _facts(options)
        facts["doors"] = _doors(options, link)
    except GridError as error:  # a transport of the user
        link.wrapper.health.unable(name, str(error), "")
        return 1
    except Exception as error:  # an MPI that cannot be loaded raises all kinds of errors
        link.wrapper.health.unable(name, f"{type(error).__name__}: {error}", sys.executable)
        return 1
    link.wrapper.code = "" if options.kind == "executable" else options.application
    link.wrapper.membership.ready(name, [facts])
    link.wait_for_go()
    remember(link)
    return _run(options, link)


def number_of(options: RankOptions) -> int:
    """Return the rank that this process has in its cluster."""
    if options.is_again:
        return options.rank
    return (options.first or 0) + rank_of_environment()


def _facts(options: RankOptions) -> dict[str, Any]:
    """Return what a `RankArrival` has of this rank; a native program starts its MPI itself."""
    facts: dict[str, Any] = {"pid": os.getpid(), "host": os.uname().nodename}
    if options.is_apart:
        return {**facts, "rank": rank_of_environment(), "size": None, "mpi": "", "segments": []}
    from runtime.mpi.process.native import native_world

    world = native_world(is_on_one_host=options.is_on_one_host)
    rank = (options.first or 0) + world.rank
    facts |= {"rank": rank, "size": world.size, "mpi": world.library}
    facts |= {"tags": world.tag_limit, "order": sys.byteorder}
    if options.is_again:  # in a native world of its own
        facts |= {"rank": options.rank, "size": None}
    segments = mapped_segments()
    # MPICH has started once all ranks of a host have mapped theirs: nobody needs its name any more,
    # and where everything is killed at once it would stay.
    remove_segments(one for one in segments if one.startswith(MPICH))
    return {**facts, "segments": segments}


def _doors(options: RankOptions, link: RankLink) -> AdvertisedAddresses:
    if options.is_apart:
        return "", ()
    script = os.path.abspath(options.path) if options.kind == "script" else ""
    return link.expect_ranks(os.path.dirname(script) or os.getcwd())


def _run(options: RankOptions, link: RankLink) -> int:
    import _thread
    import gc
    import threading  # noqa: F401 - the first to import it is its main thread, awaited at the end

    gc.freeze()  # what is loaded stays; to look through it would delay the first line
    gc.enable()
    from runtime.processes.rank.waits import RankWaits

    end, waits = _End(link), RankWaits(link.wrapper)
    _thread.start_new_thread(link.listen, (end.lost,))
    words: dict[str, Any] = {}
    tell = link.wrapper.health.ended
    if options.is_apart:
        is_joined = link.wrapper.settings.is_joined
        code, words = _run_executable(options, end, is_joined=is_joined)
        why = ""
    else:
        _prepare_python(options, link, waits)
        waits.start()
        code, why, error = (_run_c if options.shim else _run_python)(options)
        waits.ended(code)
        if code:
            words = _last_words(error)
            if link.wrapper.settings.recovery == "abort":
                tell = link.wrapper.health.aborted
                _exit_without_goodbye()
        _run_exit_handlers()
    end.has_come = True
    tell(link.name, {"code": code, "why": why, **words})
    if options.goes_on:
        _end_without_mpi(code)
    if not options.is_apart:
        _finalise(options, waits)
    _await_threads()
    if waits.libraries is not None:
        waits.libraries.python_ends()
    link.stop_serving()
    return code


def _finalise(options: RankOptions, waits: RankWaits) -> None:
    _finalise_sessions()
    waits.end_now()
    if options.shim:  # Python does not end, so mpi4py does not finalise MPI
        from runtime.processes.rank.c_program import finalise

        finalise()


def _run_c(options: RankOptions) -> tuple[int, str, BaseException | None]:
    from runtime.processes.rank.c_program import run_program

    del options
    return run_program(), "", None


def _run_python(options: RankOptions) -> tuple[int, str, BaseException | None]:
    from runtime.processes.rank.program import run_program

    rank = os.getpid()
    code, why, error = run_program(options.kind, options.path, options.arguments)
    if os.getpid() != rank:
        _end_as_child(code, error)
    if not code:  # its threads may send and receive still; of a failure others should hear at once
        with suppress(KeyboardInterrupt):
            _await_threads()
    return code, why, error


def _run_executable(
    options: RankOptions, end: _End, *, is_joined: bool
) -> tuple[int, dict[str, Any]]:
    from runtime.mpi.process.native import without_network
    from runtime.mpi.process.native_code import told
    from runtime.processes.rank.program import run_executable

    network = without_network(os.environ) if options.is_on_one_host else {}
    environment = {**network, **told(sees_cluster=is_joined)}
    code, number = run_executable(options.path, options.arguments, end.watch, environment)
    return code, {"signal": number}


def _end_as_child(code: int, error: BaseException | None) -> NoReturn:
    """End what the program has forked: it neither speaks for the rank nor finalises MPI."""
    is_shown = isinstance(error, SystemExit) or sys.excepthook is not sys.__excepthook__
    if error is not None and not is_shown:
        sys.__excepthook__(type(error), error, error.__traceback__)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # nobody reads it any more
    os._exit(code)


def _last_words(error: BaseException | None) -> dict[str, Any]:
    from runtime.membership.last_words import last_words

    if "mpi4py.MPI" in sys.modules:
        from runtime.mpi.values.truncation import note_said

        note_said(error)
    return last_words(error)


def _prepare_python(options: RankOptions, link: RankLink, waits: RankWaits) -> None:
    settings = link.wrapper.settings
    if settings.restart:
        from runtime.mpi.process.counted_output import count_output

        count_output(is_late=options.is_again)
    if not options.shim:  # a crash of C is in no line of Python
        keep_crashes(crash_file(options.run_directory, link.rank_name.rank))
    is_grid, is_joined = settings.comm_world == "grid", settings.is_joined
    if not options.shim:
        from runtime.mpi.process.native_code import told

        os.environ |= told(sees_cluster=is_joined and not is_grid)
    if is_grid:
        from runtime.mpi.surface.install import install
        from runtime.mpi.surface.lifetime import before_end

        if options.shim:
            from runtime.processes.rank.c_program import use_classes_of_header

            use_classes_of_header()
        install()
        if is_joined and not options.shim:
            from runtime.processes.rank.native_libraries import NativeLibraries

            waits.libraries = NativeLibraries(link)
            waits.libraries.watch()
        if not options.goes_on:
            waits.end_now = before_end(waits.last)
    else:
        from runtime.mpi.surface.lifetime import put_into_mpi4py

        put_into_mpi4py()


def _finalise_sessions() -> None:
    """Finalise sessions of MPI that the program has left open."""
    known = sys.modules.get("runtime.mpi.surface.open_sessions")
    if known is not None:
        known.finalise_open()


def _await_threads() -> None:
    """Wait for threads that the program has left, as Python does at its end; twice is once."""
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()


def _end_without_mpi(code: int) -> None:
    """End this process without finalising MPI, which would wait for ranks that are lost."""
    _await_threads()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed by the program
            stream.flush()
    os._exit(code)


def keep_crashes(path: str) -> None:
    """Let a crash leave the line of the program in a file, unless somebody has seen to that."""
    import faulthandler

    if faulthandler.is_enabled():
        return
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # the folder has gone, and with it the reader
    faulthandler.enable(file)


def _exit_without_goodbye() -> None:
    """Let others lose this rank, which ends their part of the run before they can catch that."""
    import atexit

    made = sys.modules.get("runtime.mpi.progress.predefined")
    if made is not None:
        atexit.unregister(made.finish)


def _run_exit_handlers() -> None:
    """Do what was left for the end of the program while all that it may need is still there."""
    import atexit

    atexit._run_exitfuncs()


class _End:
    """Ends the rank when its front-end has gone."""

    def __init__(self, link: RankLink) -> None:
        self.has_come = False
        self._link = link

    def watch(self, child: int) -> None:
        """Mean a child of this process from now on."""
        self._link.wrapper.process = child

    def lost(self) -> None:
        """End what runs, unless it has ended by itself."""
        if self.has_come:
            return
        import time

        process = self._link.wrapper.process
        os.kill(process, SIGTERM)
        time.sleep(GRACE)
        os.kill(process, SIGKILL)
