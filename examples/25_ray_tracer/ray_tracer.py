"""The ray tracer of the Java Grande Forum: 64 spheres, five lights, reflection and transmission.

    python examples/25_ray_tracer/ray_tracer.py --picture spheres.ppm
    mpiexec -n 4 python examples/25_ray_tracer/ray_tracer.py
    gcm-deploy --emulate 2x2 examples/25_ray_tracer/ray_tracer.py --size 500

Ranks trace rows in turn. The sum of all colours is compared with the published one, which exists
for pictures of 150, 500, 1000 and 2500 pixels a side. The original keeps one ray for all its
recursion: what goes through a sphere begins where the last reflected ray ended. So does it here.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

Vectors = NDArray[np.float64]
"""Three rows: x, y and z of many vectors."""
Mask = NDArray[np.bool_]

CHECKSUMS = {150: 2676692, 500: 29827635, 1000: 119283198, 2500: 745422489}
SIDE = np.arange(4) * (20 / 3) - 10
CENTRES: Vectors = np.stack([one.ravel() for one in np.meshgrid(SIDE, SIDE, SIDE, indexing="ij")])
BLUE = np.add.outer(np.arange(4), np.arange(4)).repeat(4) / 6
LIGHTS = np.array(
    [[100, 100, -50], [-100, 100, -50], [100, -100, -50], [-100, -100, -50], [200, 200, 0]], float
)
RADIUS, SHINE, SPECULAR, TRANSMITTED, DEEPEST = 3.0, 15.0, 0.5, 0.5, 6
NEAR = 1e-6


def dot(a: Vectors, b: Vectors) -> Vectors:
    """Return the scalar products of pairs of vectors."""
    product: Vectors = a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    return product


def normal(a: Vectors) -> Vectors:
    """Return vectors of length 1."""
    unit: Vectors = a / np.sqrt(dot(a, a))
    return unit


def intersect(start: Vectors, way: Vectors) -> tuple[Vectors, NDArray[np.intp]]:
    """Return how far the next sphere is on each ray, or infinity, and which one it is."""
    to = CENTRES[:, :, None] - start[:, None, :]
    along = dot(to, way[:, None, :])
    square = along * along - dot(to, to) + RADIUS * RADIUS
    root = np.sqrt(square.clip(0))
    near = along - root
    far = np.where(near < NEAR, along + root, near)
    far[(square < 0) | (far < NEAR)] = np.inf
    which = far.argmin(axis=0)
    return far[which, np.arange(far.shape[1])], which


def trace(level: int, start: Vectors, way: Vectors) -> tuple[Vectors, Vectors]:
    """Return the colours of rays, and where the last of all rays that came of each began."""
    colour, last = np.zeros_like(start), start.copy()
    if level > DEEPEST or not start.size:
        return colour, last
    distance, which = intersect(start, way)
    hit = np.isfinite(distance)
    at = start[:, hit] + way[:, hit] * distance[hit]
    shade, last[:, hit] = reflect(level, at, way[:, hit], which[hit])
    colour[:, hit] = shade
    return colour, last


def reflect(
    level: int, at: Vectors, way: Vectors, sphere: NDArray[np.intp]
) -> tuple[Vectors, Vectors]:
    """Return the colours of points of spheres, and where the last ray from there began."""
    upright = normal(at - CENTRES[:, sphere])
    upright = np.where(dot(way, upright) >= 0, -upright, upright)
    mirrored = normal(1 / abs(dot(way, upright)) * way + 2 * upright)
    colour = np.zeros_like(at)
    for light in LIGHTS:
        to = light[:, None] - at
        lit = dot(upright, to) >= 0
        to = normal(to)
        lit[lit] = np.isinf(intersect(at[:, lit], to[:, lit])[0])
        colour[2] += lit * dot(upright, to) * BLUE[sphere]
        spot = dot(mirrored, to)
        colour += lit * np.where(spot > NEAR, spot.clip(0) ** SHINE, 0)
    seen, last = trace(level + 1, at, mirrored)
    colour += SPECULAR * seen
    against = -dot(way, upright)
    straight = normal(way + (against - np.sqrt(1 - (1 - against * against))) * upright)
    seen, last = trace(level + 1, last, straight)
    return colour + TRANSMITTED * seen, last


def row(number: int, size: int) -> NDArray[np.int64]:
    """Return the red, green and blue of one row of the picture."""
    eye, up = np.array([0.0, 20.0, -30.0]), np.array([0.0, 1.0, 0.0])
    forward = normal(-eye)
    width = np.tan(35.0 * 3.14159265 / 180.0)
    down = normal(up - forward * dot(up, forward)) * -width
    left = normal(np.cross(up, forward)) * width
    across = 2.0 * np.arange(size) / size - 1
    way = across * left[:, None] + (2.0 * number / size - 1) * down[:, None] + forward[:, None]
    colour, _ = trace(0, np.repeat(eye[:, None], size, axis=1), normal(way))
    pixels: NDArray[np.int64] = np.minimum((colour * 255).astype(np.int64), 255)
    return pixels


def main() -> int:
    """Trace, add up, verify; return the exit code."""
    parser = argparse.ArgumentParser(description="The ray tracer of the Java Grande Forum.")
    parser.add_argument("--size", type=int, default=150, help="pixels of each side (150)")
    parser.add_argument("--picture", type=Path, help="where to write it, as .ppm")
    options = parser.parse_args()
    world, size = MPI.COMM_WORLD, options.size
    world.Barrier()
    begun, mine = time.perf_counter(), []
    for number in range(world.rank, size, world.size):
        mine.append(row(number, size))
        if world.rank == 0 and sys.stdout.isatty():
            print(f"\r{number + 1} of {size} rows", end="", flush=True)
    checksum = world.reduce(sum(int(one.sum()) for one in mine))
    rows = world.gather(mine)
    seconds = time.perf_counter() - begun
    if rows is None:
        return 0
    if options.picture:
        picture = np.empty((size, size, 3), np.uint8)
        for rank, some in enumerate(rows):
            picture[rank :: world.size] = [one.T for one in some]
        options.picture.write_bytes(b"P6 %d %d 255\n" % (size, size) + picture.tobytes())
    verdict = {CHECKSUMS.get(size): "verified"}.get(checksum, "WRONG")
    if size not in CHECKSUMS:
        verdict = "nothing is published for this size"
    print(f"{size} x {size} pixels, sum {checksum}, {world.size} ranks: {verdict}; {seconds:.4f} s")
    return 1 if verdict == "WRONG" else 0


if __name__ == "__main__":
    sys.exit(main())
