"""Whether the kernel has killed processes for lack of memory, from trees of files."""

from __future__ import annotations

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


def tree(root: Path, cgroup: str, folder: str, limit: str, *, events: str, maximum: str) -> None:
    files = {
        "proc/self/cgroup": cgroup,
        f"{folder}/{events}": "low 0\noom 1\noom_kill 1\n",
        f"{folder}/{maximum}": limit,
        "proc/vmstat": "nr_free 7\noom_kill 4\n",
    }
    write(root, files)


@pytest.mark.parametrize(
    ("cgroup", "folder", "limit", "names", "place"),
    [
        (V2, V2_FOLDER, "536870912\n", ("memory.events", "memory.max"), "its cgroup may use 512 MiB"),
        (V2, V2_FOLDER, "max\n", ("memory.events", "memory.max"),
         "its cgroup may use what its parent may"),
        (V1, V1_FOLDER, "1073741824\n", ("memory.oom_control", "memory.limit_in_bytes"),
         "its cgroup may use 1024 MiB"),
    ],
)  # fmt: skip
def test_the_counter_of_the_cgroup_says_who_ran_out_of_memory(
    tmp_path: Path, cgroup: str, folder: str, limit: str, names: tuple[str, str], place: str
) -> None:
    events, maximum = names
    tree(tmp_path, cgroup, folder, limit, events=events, maximum=maximum)
    kills = MemoryKills(tmp_path)
    assert kills.words() == ""
    write(tmp_path, {f"{folder}/{events}": "oom_kill 3\n", "proc/vmstat": "oom_kill 6\n"})
    assert (
        kills.words() == f"the kernel has killed 2 processes for lack of memory meanwhile ({place})"
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
