"""Making a failing program small."""

from __future__ import annotations

from collections.abc import Callable

from tools.random_programs.program import Program


def shrink(program: Program, fails: Callable[[Program], bool], *, tries: int = 200) -> Program:
    """Return a part of the program that still fails, with as few units as `tries` runs can find.

    `fails` runs a program and tells whether it shows the fault.
    """
    step = max(1, len(program.units()) // 2)
    while tries > 0:
        smaller = None
        units = program.units()
        for begin in range(0, len(units), step):
            if tries <= 0:
                return program
            tries -= 1
            part = program.without(units[begin : begin + step])
            if fails(part):
                smaller = part
                break
        if smaller is not None:
            program = smaller
            step = min(step, max(1, len(program.units()) // 2))
        elif step == 1:
            return program
        else:
            step //= 2
    return program
