"""Running the application in the process of a rank, as the interpreter itself would."""

from __future__ import annotations

import os
import sys

import gcm  # noqa: F401 - bound before the program folder, where a `gcm.py` may be, is on the path
from runtime.home import OWN_FRAMES

TYPE_CHECKING = False  # known to type checkers; importing `typing` would delay every rank
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

INTERRUPTED = 130


def run_program(
    kind: str, path: str, arguments: list[str]
) -> tuple[int, str, BaseException | None]:
    """Run a script or a module as `__main__`; return its exit code, why, and what it raised.

    A traceback is told to the front-end, which shows that of the rank that failed first, instead
    of being written at once by all that fail. A hook of the program's own is called as ever.
    """
    _show_flags_of_program()
    try:
        (_run_module if kind == "module" else _run_script)(path, arguments)
    except SystemExit as end:
        return (*_code_of(end), end)
    except BaseException as error:
        _from_program_on(error)
        if sys.excepthook is not sys.__excepthook__:
            sys.excepthook(type(error), error, error.__traceback__)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1, "", error
    finally:
        _flush()
    return 0, "", None


def run_executable(
    path: str, arguments: list[str], began: Callable[[int], None], settings: Mapping[str, str]
) -> tuple[int, int]:
    """Run a native program in a child of this process, with settings for what its user left unset.

    Returns the code a shell would report, and the signal that ended it, 0 for none.
    """
    child = os.fork()
    if child == 0:
        try:
            os.execvpe(path, [path, *arguments], {**settings, **os.environ})
        except OSError as fault:
            os.write(2, f"{path}: {fault.strerror}\n".encode())
            os._exit(127 if isinstance(fault, FileNotFoundError) else 126)
    began(child)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return (code, 0) if code >= 0 else (128 - code, -code)


def _show_flags_of_program() -> None:
    """Replace `sys.flags` by the flags of an interpreter that was started for the program alone.

    This one runs with `-P` so that nothing beside the program hides the package. The program and
    the interpreters that it starts would leave out the folders of scripts for that reason.
    """
    from collections import namedtuple

    names = type(sys.flags).__match_args__
    values = dict(zip(names, sys.flags, strict=True))
    values["safe_path"] = bool(os.environ.get("PYTHONSAFEPATH"))
    sys.flags = namedtuple("flags", names)(**values)  # type: ignore[assignment]


def _run_script(path: str, arguments: list[str]) -> None:
    full = os.path.abspath(path)
    with open(full, "rb") as file:
        source = file.read()
    main = type(sys)("__main__")
    main.__file__ = full
    main.__dict__["__builtins__"] = __builtins__
    main.__dict__["__cached__"] = None
    sys.modules["__main__"] = main
    sys.argv[:] = [path, *arguments]
    if not sys.flags.safe_path:
        sys.path.insert(0, os.path.dirname(full))
    exec(compile(source, full, "exec"), main.__dict__)


def _run_module(name: str, arguments: list[str]) -> None:
    import runpy

    sys.argv[:] = [name, *arguments]
    if not sys.flags.safe_path:
        sys.path.insert(0, os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _code_of(end: SystemExit) -> tuple[int, str]:
    if end.code is None:
        return 0, ""
    if isinstance(end.code, int):
        return end.code & 0xFF, ""
    print(end.code, file=sys.stderr)
    return 1, f"exited: {end.code}"


def _from_program_on(error: BaseException) -> None:
    """Let a traceback begin where the program begins."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(OWN_FRAMES):
        trace = trace.tb_next
    error.__traceback__ = trace


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # closed by the program: nothing is left in it
