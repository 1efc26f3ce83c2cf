"""Shallow water on a doubly periodic plane, spectral, in the manner of PSTSWM.

    mpiexec -n 4 python examples/27_shallow_water/shallow_water.py
    gcm-deploy --emulate 2x2 examples/27_shallow_water/shallow_water.py --cells 64 --steps 20

PSTSWM, the parallel spectral transform shallow water model, has its ranks in a rectangle: whoever
stands in a row owns the same layers, whoever stands in a column the same part of the plane. A
Fourier transform along x is local; then the ranks of a row exchange blocks (alltoall in a
sub-communicator), so that one along y is local too. Here one step of the linear equations is exact
in spectral space: each wave turns with its own frequency. So the fields after any number of steps
are known, and are compared with what they should be; reductions along columns give the means.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

Real = NDArray[np.float64]
Complex = NDArray[np.complex128]

GRAVITY, CORIOLIS, STEP = 1.0, 0.5, 0.05


class Plane:
    """The place of a rank in the rectangle: its communicators, its layers and its rows."""

    def __init__(self, world: MPI.Intracomm, cells: int, layers: int) -> None:
        sides = MPI.Compute_dims(world.size, 2)
        self.row = world.Split(world.rank // sides[0], world.rank)
        self.column = world.Split(world.rank % sides[0], world.rank)
        if cells % self.row.size or layers % self.column.size:
            raise SystemExit(
                f"{cells} cells and {layers} layers cannot be divided among {self.row.size} ranks "
                f"of a row and {self.column.size} of a column; choose multiples of them"
            )
        self.cells, self.part = cells, cells // self.row.size
        each = layers // self.column.size
        self.layers = np.arange(self.column.rank * each, (self.column.rank + 1) * each)

    def turned(self, field: Complex) -> Complex:
        """Exchange blocks within the row: who had all of x for a part of y has all of y."""
        blocks = field.reshape(len(self.layers), self.part, self.row.size, self.part)
        sent = np.ascontiguousarray(blocks.transpose(2, 0, 3, 1))
        received = np.empty_like(sent)
        self.row.Alltoall(sent, received)
        rows = received.transpose(1, 2, 0, 3)
        return rows.reshape(len(self.layers), self.part, self.cells)

    def to_waves(self, field: Complex) -> Complex:
        """Transform along x, exchange, transform along y: [layer, wave of x, wave of y]."""
        waves: Complex = np.fft.fft(self.turned(np.fft.fft(field)))
        return waves

    def to_cells(self, waves: Complex) -> Complex:
        """Transform back: [layer, y, x]."""
        cells: Complex = np.fft.ifft(self.turned(np.fft.ifft(waves)))
        return cells


def known(plane: Plane, seconds: float) -> list[Complex]:
    """Return height and velocities: an inertia-gravity wave in each layer, of its own depth."""
    k, m = 2.0, 3.0
    square = k * k + m * m
    at = np.arange(plane.cells) * 2 * np.pi / plane.cells
    mine = at[plane.row.rank * plane.part : (plane.row.rank + 1) * plane.part]
    fields: list[Complex] = [np.empty((0, plane.part, plane.cells), complex)] * 3
    for layer in plane.layers:
        depth = 1.0 + layer
        frequency = np.sqrt(CORIOLIS**2 + GRAVITY * depth * square)
        wave = np.exp(1j * (k * at + m * mine[:, None] - frequency * seconds))
        u = (frequency * k + 1j * CORIOLIS * m) / (depth * square) * wave
        v = (frequency * m - 1j * CORIOLIS * k) / (depth * square) * wave
        for number, one in enumerate((wave, u, v)):
            fields[number] = np.concatenate((fields[number], one.real[None] + 0j))
    return fields


def turns(plane: Plane, seconds: float) -> Complex:
    """Return for each wave the 3 x 3 matrix that a time makes of height and velocities."""
    waves = np.fft.fftfreq(plane.cells, 1 / plane.cells)
    k = waves[plane.row.rank * plane.part : (plane.row.rank + 1) * plane.part, None]
    depth, m = 1.0 + plane.layers[:, None, None], waves
    change = np.zeros((len(plane.layers), plane.part, plane.cells, 3, 3), complex)
    change[..., 0, 1], change[..., 0, 2] = -1j * depth * k, -1j * depth * m
    change[..., 1, 0], change[..., 1, 2] = -1j * GRAVITY * k, CORIOLIS
    change[..., 2, 0], change[..., 2, 1] = -1j * GRAVITY * m, -CORIOLIS
    values, vectors = np.linalg.eig(change)
    turned: Complex = vectors * np.exp(values * seconds)[..., None, :] @ np.linalg.inv(vectors)
    return turned


def main() -> int:
    """Let waves travel, compare; return the exit code."""
    parser = argparse.ArgumentParser(description="Shallow water, spectral.")
    parser.add_argument("--cells", type=int, default=32, help="along each side (32)")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    world = MPI.COMM_WORLD
    plane = Plane(world, options.cells, options.layers)
    fields, turn = known(plane, 0.0), turns(plane, STEP)
    world.Barrier()
    begun = time.perf_counter()
    for number in range(options.steps):
        waves = np.stack([plane.to_waves(one) for one in fields], axis=-1)
        waves = (turn @ waves[..., None])[..., 0]
        fields = [plane.to_cells(np.ascontiguousarray(waves[..., one])) for one in range(3)]
        if world.rank == 0 and sys.stdout.isatty():
            print(f"\r{number + 1} of {options.steps} steps", end="", flush=True)
    seconds = world.allreduce(time.perf_counter() - begun, MPI.MAX)
    expected = known(plane, options.steps * STEP)
    wrong = max(float(np.abs(a - b).max()) for a, b in zip(fields, expected, strict=True))
    wrong = world.allreduce(wrong, MPI.MAX)
    mean = plane.column.allreduce(plane.row.allreduce(float(fields[0].real.sum())))
    is_right = wrong < 1e-10 and abs(mean) < 1e-8
    if world.rank == 0:
        shape = f"{options.layers} layers of {options.cells}^2, {options.steps} steps"
        print(
            f"{shape}, {plane.row.size} x {plane.column.size} ranks: wrong by {wrong:.1e}, "
            f"{'right' if is_right else 'wrong'}; {seconds:.4f} s"
        )
    plane.row.Free()
    plane.column.Free()
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
