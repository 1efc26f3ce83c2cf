"""Whether the kernel has killed processes for lack of memory, from trees of files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.processes.front_end.memory_kills import MemoryKills

V2, V1 = "0::/user/run.scope\n", "3:cpu:/elsewhere\n9:memory:/run\n"
V2_FOLDER, V1_FOLDER = "sys/fs/cgroup/user/run.scope", "sys/fs/cgroup/memory/run"


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    ("cgroup", "events", "limit", "place"),
    [
        (V2, f"{V2_FOLDER}/memory.events", "536870912\n", "512 MiB"),
        (V2, f"{V2_FOLDER}/memory.events", "max\n", "what its parent may"),
        (V1, f"{V1_FOLDER}/memory.oom_control", "1073741824\n", "1024 MiB"),
    ],
)
def test_the_counter_of_the_cgroup_says_who_ran_out_of_memory(
    tmp_path: Path, cgroup: str, events: str, limit: str, place: str
) -> None:
    folder = events.rpartition("/")[0]
    maximum = "memory.max" if cgroup == V2 else "memory.limit_in_bytes"
    write(
        tmp_path,
        {
            "proc/self/cgroup": cgroup,
            events: "low 0\noom 1\noom_kill 1\n",
            f"{folder}/{maximum}": limit,
            "proc/vmstat": "nr_free 7\noom_kill 4\n",
        },
    )
    kills = MemoryKills(tmp_path)
    assert kills.words() == ""
    write(tmp_path, {events: "oom_kill 3\n", "proc/vmstat": "oom_kill 6\n"})
    assert kills.words() == (
        "the kernel has killed 2 processes for lack of memory meanwhile "
        f"(its cgroup may use {place})"
    )


def test_the_counter_of_the_host_is_read_where_there_is_no_cgroup(tmp_path: Path) -> None:
    write(tmp_path, {"proc/vmstat": "oom_kill 4\n"})
    kills = MemoryKills(tmp_path)
    write(tmp_path, {"proc/vmstat": "oom_kill 5\n"})
    assert kills.words() == (
        "the kernel has killed a process for lack of memory meanwhile (of this host)"
    )


def test_what_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert MemoryKills(tmp_path).words() == ""
    write(tmp_path, {"proc/self/cgroup": V2, f"{V2_FOLDER}/memory.events": "nonsense"})
    assert MemoryKills(tmp_path).words() == ""


def test_another_host_was_not_looked_at_and_that_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"proc/vmstat": "oom_kill 4\n"})
    kills = MemoryKills(tmp_path)
    write(tmp_path, {"proc/vmstat": "oom_kill 5\n"})
    assert kills.words("n7") == (
        "whether n7 lacked memory was not looked at: see the log of its kernel"
    )
    assert kills.words(os.uname().nodename) == kills.words() != ""
