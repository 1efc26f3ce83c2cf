"""Poisson's equation in a cube by Jacobi's method: pieces, exchanged faces, a reduced residual.

    mpiexec -n 4 python examples/23_poisson/poisson.py
    gcm-deploy --emulate 2x2x2 examples/23_poisson/poisson.py --cells 48 --partition blocks
    gcm-deploy --emulate 2x2 examples/23_poisson/poisson.py --checkpoint 50

Solves -div grad u = f with u = 0 on the surface, where f is such that u is the product of three
sines. For that f, Jacobi's method shrinks the error by cos(pi h) in each step, h being the distance
of cells: so the result is known for any number of steps, and is compared with that. With
checkpoints, a run that was killed at any time resumes from the last step that all ranks saved.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray
from partition import Box, dealt, faces_between_clusters, grid_of, piece

from runtime import MPI

Field = NDArray[np.float64]
GRID = MPI.COMM_GRID


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Poisson's equation in a cube.")
    parser.add_argument("--cells", type=int, default=32, help="along each side (32)")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--partition", choices=("slices", "blocks"), default="slices")
    parser.add_argument("--mapping", choices=("topology", "dealt"), default="topology")
    parser.add_argument("--checkpoint", type=int, default=0, help="steps from one to the next")
    parser.add_argument("--picture", type=Path, help="where to write the middle plane, as .pgm")
    return parser.parse_args()


def clusters_of_ranks() -> list[str]:
    """Return the cluster of each rank; where there is only one, its hosts."""
    names = GRID.allgather((str(GRID.my_cluster.identifier), MPI.Get_processor_name()))
    is_one = len({cluster for cluster, _ in names}) == 1
    return [host if is_one else cluster for cluster, host in names]


def sines(cells: int, box: Box) -> Field:
    """Return the analytic solution in a piece of the cube."""
    x, y, z = (np.sin(np.pi * np.arange(one.start + 1, one.stop + 1) / (cells + 1)) for one in box)
    product: Field = x[:, None, None] * y[:, None] * z
    return product


def exchange(cube: MPI.Cartcomm, u: Field) -> None:
    """Send the outer layers of this piece to its neighbours; receive theirs into the border."""
    for axis in range(3):
        layers = np.moveaxis(u, axis, 0)[:, *INSIDE]
        before, after = cube.Shift(axis, 1)
        for to, sent, source, border in ((before, 1, after, -1), (after, -2, before, 0)):
            received = np.ascontiguousarray(layers[border])
            cube.Sendrecv(np.ascontiguousarray(layers[sent]), to, recvbuf=received, source=source)
            layers[border] = received


INSIDE = (slice(1, -1), slice(1, -1))


def step(cube: MPI.Cartcomm, u: Field, source: Field) -> float:
    """Do one step; return the largest change anywhere."""
    exchange(cube, u)
    inner = u[1:-1, 1:-1, 1:-1]
    new = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
    new += u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:] + source
    new /= 6
    change = float(np.abs(new - inner).max(initial=0.0))
    inner[:] = new
    return float(cube.allreduce(change, MPI.MAX))


def restore(cube: MPI.Cartcomm, u: Field) -> int:
    """Put back the latest step that every rank has saved; return it, or 0."""
    saved = {0: np.zeros_like(u)}
    for path in Path("poisson").glob(f"{cube.rank}-[01].npz"):
        with np.load(path) as found:
            if found["u"].shape == u.shape:
                saved[int(found["step"])] = found["u"]
    begun: int = max(set.intersection(*map(set, cube.allgather(list(saved)))))
    u[:] = saved[begun]
    return begun


def save(cube: MPI.Cartcomm, u: Field, number: int, turn: int) -> None:
    """Write a checkpoint, whole or not at all; nobody goes on before all have theirs."""
    Path("poisson").mkdir(exist_ok=True)
    path = Path("poisson", f"{cube.rank}-{turn % 2}.npz")
    np.savez(path.with_suffix(".new.npz"), step=number, u=u)
    path.with_suffix(".new.npz").rename(path)
    cube.Barrier()


def main() -> int:
    """Solve, compare with what is known; return the exit code."""
    options = arguments()
    clusters = clusters_of_ranks()
    shape = grid_of(GRID.size, options.partition)
    order = dealt(clusters) if options.mapping == "dealt" else list(range(GRID.size))
    ordered = cast("MPI.Intracomm", GRID.Split(0, order.index(GRID.rank)))
    cube = cast("MPI.Cartcomm", ordered.Create_cart(shape))
    at = cube.Get_coords(cube.rank)
    box = piece(options.cells, shape, (at[0], at[1], at[2]))
    exact, h = sines(options.cells, box), 1 / (options.cells + 1)
    # the source is that of the discrete equation, so that the sines solve it exactly
    source = exact * 6 * (1 - np.cos(np.pi * h))
    u = np.zeros([size + 2 for size in exact.shape])
    begun = restore(cube, u) if options.checkpoint else 0
    clock, change = time.perf_counter(), 0.0
    for number in range(begun + 1, options.steps + 1):
        change = step(cube, u, source)
        if options.checkpoint and number % options.checkpoint == 0:
            save(cube, u, number, number // options.checkpoint)
        if cube.rank == 0 and sys.stdout.isatty():
            print(f"\r{number} of {options.steps}: changed by {change:.2e}", end="", flush=True)
    seconds = cube.allreduce(time.perf_counter() - clock, MPI.MAX)
    left = np.cos(np.pi * h) ** options.steps
    wrong = float(np.abs(u[1:-1, 1:-1, 1:-1] - (1 - left) * exact).max(initial=0.0))
    wrong = cube.allreduce(wrong, MPI.MAX)
    if options.picture:
        draw(cube, options.picture, options.cells, box, u)
    if cube.rank == 0:
        verdict = "right" if wrong < 1e-12 else "wrong"
        faces = faces_between_clusters(clusters, order, shape)
        if begun:
            print(f"resumed after step {begun}")
        print(
            f"{options.cells}^3 cells, {options.steps} steps, {shape[0]} x {shape[1]} x {shape[2]} "
            f"pieces, {faces} faces between clusters: changed by {change:.3e} at last, "
            f"{left:.1%} to go, {verdict}; {seconds:.4f} s"
        )
    cube.Free()
    ordered.Free()
    return 0 if wrong < 1e-12 else 1


def draw(cube: MPI.Cartcomm, path: Path, cells: int, box: Box, u: Field) -> None:
    """Write the plane in the middle as a grey picture."""
    middle = cells // 2
    has_it = box[0].start <= middle < box[0].stop
    mine = u[1 + middle - box[0].start, 1:-1, 1:-1] if has_it else None
    pieces = cube.gather((box[1:], mine))
    if pieces is None:
        return
    plane = np.zeros((cells, cells))
    for where, values in pieces:
        if values is not None:
            plane[where] = values
    pixels = (255 * plane / max(plane.max(), 1e-30)).astype(np.uint8)
    path.write_bytes(b"P5 %d %d 255\n" % (cells, cells) + pixels.tobytes())


if __name__ == "__main__":
    sys.exit(main())
