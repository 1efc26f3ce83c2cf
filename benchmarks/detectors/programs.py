"""The program whose ranks are killed, stopped and cut off while others wait for them."""

from __future__ import annotations

PROGRAM = """
import os, signal, sys, time
from mpi4py import MPI

comm = MPI.COMM_WORLD
signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))
other = comm.sendrecv(os.getpid(), 1 - comm.rank, source=1 - comm.rank)
if comm.rank == 1:
    print("victim", os.getpid(), other, flush=True)
    while True:
        time.sleep(1)
try:
    comm.recv(source=1)
except BaseException as error:
    print("noticed", time.monotonic(), type(error).__name__, flush=True)
    raise
"""
