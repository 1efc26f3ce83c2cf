"""What is known to work with which batch system, from the results of tests, as a table.

python -m pytest tests/integration/batch tests/unit/allocations --junitxml=results.xml
python -m tools.batch_table results.xml

`daemon` means that a run of `gcm-deploy` did it with the real daemons, `recorded` that text is
compared with what the manual shows, `printed` with what the daemons have printed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

RUN = "test_a_program_runs_on_the_nodes_that_are_granted_with_a_cluster_beside_it"
CELLS = {
    "script": RUN,
    "submit": RUN,
    "queue reason": "test_the_queue_is_told_in_words_and_waited_for",
    "nodes": RUN,
    "start": RUN,
    "output": RUN,
    "cancel": "test_ctrl_c_takes_the_job_out_of_the_queue",
    "walltime": "test_the_ranks_get_a_signal_and_results_come_home_before_the_walltime_is_over",
    "node lost": "",
    "rejected option": "test_what_slurm_refuses_is_told_in_its_own_words",
    "launcher killed": "test_a_job_that_is_queued_when_the_launcher_is_killed_leaves_the_queue",
    "inside an allocation": "test_a_program_within_salloc_runs_on_all_of_its_nodes",
    "detached": "",
}
"""The test with the daemons of Slurm that stands for each cell; "" where there is none."""

READ = frozenset({"script", "submit", "queue reason", "nodes", "cancel"})
"""The cells that are text in and text out, which the files of each system have."""

WORDS = Path(__file__).parents[1] / "tests" / "unit" / "allocations" / "testdata"


def results(file: str) -> dict[str, bool]:
    """Return whether each test of a JUnit file has passed, by its name without parameters."""
    passed: dict[str, bool] = {}
    for case in ET.parse(file).getroot().iter("testcase"):
        name = case.get("name", "").partition("[")[0]
        is_good = not [one for one in case if one.tag in ("failure", "error", "skipped")]
        passed[name] = passed.get(name, True) and is_good
    return passed


def rows(passed: dict[str, bool]) -> Iterator[Sequence[str]]:
    """Yield the cells of each system."""
    for file in sorted(WORDS.glob("*.txt"), key=lambda one: (one.stem != "slurm", one.stem)):
        word = "printed" if file.read_text().startswith("Printed") else "recorded"
        is_slurm = file.stem == "slurm"
        yield (
            f"`{file.stem}`",
            *(
                "daemon" if is_slurm and passed.get(test) else word if cell in READ else "-"
                for cell, test in CELLS.items()
            ),
        )


def main() -> int:
    """Print the table in Markdown, a system in each column."""
    table = [("", *CELLS), *rows(results(sys.argv[1]))]
    for number, line in enumerate(zip(*table, strict=True)):
        print(f"| {' | '.join(line)} |")
        if not number:
            print(f"|{'---|' * len(line)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
