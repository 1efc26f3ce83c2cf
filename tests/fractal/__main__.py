"""The conformance table of the Fractal specification, each clause checked now.

    python -m tests.fractal              the table, with a verdict for each clause
    python -m tests.fractal --nodes 4    the same, where primitives live on so many nodes, and then
                                         tests of membranes and components there (tests/on_nodes.py)
    python -m tests.fractal --markdown   what docs/fractal.md has of it

Exit code 0 means that every check passed.
"""

from __future__ import annotations

import sys
from collections import Counter

from gcm import placed
from tests.fractal.clause import Clause
from tests.fractal.table import TOPICS, in_markdown
from tests.on_nodes import FAILS as FAILS_THERE
from tests.on_nodes import run_tests
from tests.running_nodes import running_nodes

FAILS = "FAILS"


def judged(clause: Clause) -> tuple[str, str]:
    """Run one check; return the verdict, and what there is to say about it."""
    try:
        clause.check()
    except Exception as error:  # whatever a check raises is the reason
        return FAILS, f"{type(error).__name__}: {error}"
    except BaseException as error:  # pytest's own failures are no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return FAILS, f"{error}"
    return clause.verdict, clause.instead


def main(arguments: list[str]) -> int:
    if "--markdown" in arguments:
        print(in_markdown(), end="")
        return 0
    if "--nodes" in arguments:
        with running_nodes(int(arguments[arguments.index("--nodes") + 1])) as nodes:
            with placed(nodes):
                failed = show()
            ended = run_tests(nodes)
        print("on nodes, " + ", ".join(f"{number} {how}" for how, number in ended.items()))
        return failed or bool(ended[FAILS_THERE])
    return show()


def show() -> int:
    """Judge all clauses and print what comes of it."""
    counted: Counter[str] = Counter()
    for topic in TOPICS:
        print(f"\n{topic.title}")
        for clause in topic:
            verdict, remark = judged(clause)
            counted[verdict] += 1
            print(f"  {verdict:<9} {clause.section:<4} {clause.rule}")
            if remark:
                print(f"{'':<17}{remark}")
    print("\n" + ", ".join(f"{number} {verdict}" for verdict, number in counted.items()))
    return 1 if counted[FAILS] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
