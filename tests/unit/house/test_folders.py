"""The figures about the size of the project, on a small file and a small repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.folders import COLUMNS, Size, main, size

SAMPLE = '''"""Two lines of
docstring."""

import logging  # the comment is beside code

# a comment alone

_log = logging.getLogger(__name__)
LIMIT = 3
"""A constant explained."""


class Door:
    """One line."""

    async def open(self) -> str:
        def knock() -> None:
            _log.info("knock %d", LIMIT)
            self.register.log("no log call")

        return """text that is
            a value"""

    def close(self) -> None: ...
'''


def test_code_docstrings_functions_and_log_calls_are_counted() -> None:
    assert size(SAMPLE) == Size(
        files=1, short=1, lines=24, code=10, docstrings=4, imports=1, functions=3, log_calls=1
    )


def test_a_file_of_sixty_lines_is_not_short() -> None:
    assert size("x = 1\n" * 59).short == 1
    assert size("x = 1\n" * 60).short == 0


def test_two_commits_stand_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("gcm/adl/writing", "runtime", "tests", "benchmarks", "tools"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "one.py").write_text("x = 1\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/architecture.md").write_text("1. Nobody has walked here.\n")
    commit()
    (tmp_path / "gcm/adl/two.py").write_text('"""Two."""\n')
    (tmp_path / "tests/one.py").unlink()
    (tmp_path / "tests/notes.txt").write_text("not counted\n")
    (tmp_path / "docs/architecture.md").write_text(WALK)
    commit()
    main(["HEAD~1"])
    assert capsys.readouterr().out == TABLES


WALK = """\
1. `runtime.deployment.reading:read`: reads
2. `runtime.planning:Plan.make`: plans

Then somebody says *3*.
"""

TABLES = f"""\
| | before | after |
|---|---|---|
| code lines in `gcm` and `runtime` | 2 | 2 |
| all their lines | 2 | 3 |
| their files | 2 | 3 |
| lines of `tests` | 1 | - |
| lines of `benchmarks` and `tools` | 2 | 2 |
| contracts between processes | - | - |
| stations from descriptor to rank | - | 2 |

| Part | {" | ".join(COLUMNS)} |
|---|---|---|---|---|---|---|---|---|
| `gcm`, `runtime` | 2 → 3 | 2 → 3 | 2 → 3 | 2 → 2 | - → 1 | - → - | - → - | - → - |
| `tests` | 1 → - | 1 → - | 1 → - | 1 → - | - → - | - → - | - → - | - → - |
| `benchmarks`, `tools` | 2 → 2 | 2 → 2 | 2 → 2 | 2 → 2 | - → - | - → - | - → - | - → - |

| Folder | {" | ".join(COLUMNS)} |
|---|---|---|---|---|---|---|---|---|
| `benchmarks` | 1 → 1 | 1 → 1 | 1 → 1 | 1 → 1 | - → - | - → - | - → - | - → - |
| `gcm/adl` | 1 → 2 | 1 → 2 | 1 → 2 | 1 → 1 | - → 1 | - → - | - → - | - → - |
| `runtime` | 1 → 1 | 1 → 1 | 1 → 1 | 1 → 1 | - → - | - → - | - → - | - → - |
| `tests` | 1 → - | 1 → - | 1 → - | 1 → - | - → - | - → - | - → - | - → - |
| `tools` | 1 → 1 | 1 → 1 | 1 → 1 | 1 → 1 | - → - | - → - | - → - | - → - |
"""


def commit() -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", "step"]):
        subprocess.run(["git", *command], check=True)
