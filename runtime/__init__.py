"""The hierarchical machine: several native-MPI clusters joined over GCM components.

    from runtime import MPI          # mpi4py's MPI, with the communicators of the whole machine
    from runtime import coupling     # messages between the codes of a deployment
    from runtime import run, start   # a program on a machine, from Python or a notebook
    from runtime import Machine, planned   # a planned deployment held by a Python program

Importing this costs nothing; each name is loaded when it is first asked for.
"""

TYPE_CHECKING = False  # known to type checkers; until `main` runs, Ctrl-C ends in a traceback
if TYPE_CHECKING:
    from runtime import coupling
    from runtime.cli.add import add_component
    from runtime.cli.errors import UsageError
    from runtime.mpi.surface import mpi_module as MPI
    from runtime.processes.launcher.machine import Machine
    from runtime.runs import (
        RunFailed,
        RunOptions,
        RunResult,
        StartedRun,
        planned,
        run,
        start,
    )

__all__ = [
    "MPI",
    "Machine",
    "RunFailed",
    "RunOptions",
    "RunResult",
    "StartedRun",
    "UsageError",
    "add_component",
    "coupling",
    "planned",
    "run",
    "start",
]


def __getattr__(name: str) -> object:
    if name == "MPI":
        from runtime.mpi.surface.install import load

        return load()
    if name == "Machine":
        from runtime.processes.launcher.machine import Machine

        return Machine
    if name == "add_component":
        from runtime.cli.add import add_component

        return add_component
    if name == "load_ipython_extension":  # IPython asks for it on `%load_ext runtime`
        from runtime.notebook import load_ipython_extension

        return load_ipython_extension
    if name == "coupling":
        import runtime.coupling

        return runtime.coupling
    if name in __all__:
        from runtime import runs

        return getattr(runs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
