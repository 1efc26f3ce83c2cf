"""Running the application in the process of a rank, as the interpreter itself would."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # known to type checkers; importing `typing` would delay every rank
if TYPE_CHECKING:
    from collections.abc import Callable

INTERRUPTED = 130


def run_program(kind: str, path: str, arguments: list[str]) -> tuple[int, str]:
    """Run a script or a module as `__main__`; return its exit code, and the error that ended it.

    What it raises is shown on stderr as ever, but without the frames of this package.
    """
    try:
        (_run_module if kind == "module" else _run_script)(path, arguments)
    except SystemExit as end:
        return _code_of(end), ""
    except KeyboardInterrupt as error:
        _show(error)
        return INTERRUPTED, "KeyboardInterrupt"
    except BaseException as error:
        _show(error)
        return 1, f"{type(error).__name__}: {error}"
    finally:
        _flush()
    return 0, ""


def run_executable(path: str, arguments: list[str], began: Callable[[int], None]) -> int:
    """Run a native program in a child of this process; return the code a shell would report."""
    child = os.fork()
    if child == 0:
        try:
            os.execvp(path, [path, *arguments])
        except OSError as fault:
            os.write(2, f"{path}: {fault.strerror}\n".encode())
            os._exit(127 if isinstance(fault, FileNotFoundError) else 126)
    began(child)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


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
    sys.path[0] = os.path.dirname(full)
    exec(compile(source, full, "exec"), main.__dict__)


def _run_module(name: str, arguments: list[str]) -> None:
    import runpy

    sys.argv[:] = [name, *arguments]
    sys.path[0] = os.getcwd()
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _code_of(end: SystemExit) -> int:
    if end.code is None:
        return 0
    if isinstance(end.code, int):
        return end.code & 0xFF
    print(end.code, file=sys.stderr)
    return 1


def _show(error: BaseException) -> None:
    """Show what the program raised, beginning where the program begins."""
    trace = error.__traceback__
    own = (os.path.dirname(os.path.abspath(__file__)), "<frozen runpy>")
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(own):
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # closed by the program: nothing is left in it
