"""A model that answers queries of another code while it computes: they meet at a port with a name.

    gcm-deploy --emulate 2x1x2 examples/34_ports/queries.py

Half of the ranks are a model, the others ask it for something now and then. Neither side has a
communicator with the other: the model opens a port and gives it a name, and who looks the name up
connects to it. Each visit is an intercommunicator of its own, which ends with `Disconnect`.

In a real code the two sides are two programs, which know nothing but the name.
"""

from __future__ import annotations

import time

from mpi4py import MPI

VISITS = 3


def model(own: MPI.Intracomm) -> None:
    """Compute, and let somebody in after each step."""
    port = ""
    if own.rank == 0:
        port = MPI.Open_port()
        MPI.Publish_name("model", port)
    state = float(own.rank)
    for _ in range(VISITS):
        state += 1.0
        visitors = own.Accept(port)
        sum_of_all = own.allreduce(state)
        visitors.bcast(sum_of_all, MPI.ROOT if own.rank == 0 else MPI.PROC_NULL)
        visitors.Disconnect()
    if port:
        MPI.Unpublish_name("model", port)
        MPI.Close_port(port)


def visitors(own: MPI.Intracomm) -> None:
    """Ask for the state of the model again and again."""
    for visit in range(VISITS):
        port = look_up("model") if own.rank == 0 else ""
        model_there = own.Connect(port)
        state = model_there.bcast(None, 0)
        model_there.Disconnect()
        if own.rank == 0:
            print(f"visit {visit + 1}: the model is at {state:g}", flush=True)


def look_up(name: str) -> str:
    """Return the port of a name, as soon as somebody has published it."""
    while True:
        try:
            return MPI.Lookup_name(name)
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_NAME:
                raise
            time.sleep(0.01)


def main() -> None:
    """Be one of the two codes."""
    world = MPI.COMM_WORLD
    is_model = world.rank < world.size // 2
    own = MPI.Intracomm(world.Split(is_model, world.rank))
    if is_model:
        model(own)
    else:
        visitors(own)


if __name__ == "__main__":
    main()
