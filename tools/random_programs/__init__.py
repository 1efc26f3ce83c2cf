"""Random valid MPI programs as data, what they have to compute, and the interpreter that runs them.

`generate` makes a program from a seed, `expected` tells what every rank has to see, `interpreter`
is the MPI program that does it, `shrink` finds a small part of a program that still fails. All but
the interpreter are pure.

    python -m tools.random_programs --seed 17 --ranks 4            on a plain MPI
    python -m tools.random_programs --seed 17 --grid "1|2|3"       on a grid of three clusters
"""

from tools.random_programs.generator import generate
from tools.random_programs.model import expected
from tools.random_programs.program import Event, Program
from tools.random_programs.shrink import shrink

__all__ = ["Event", "Program", "expected", "generate", "shrink"]
