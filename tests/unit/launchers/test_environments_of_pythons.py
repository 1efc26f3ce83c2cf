"""Commands are found as if the virtual environment of the Python that was named was activated."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.launchers.command import _in_shell
from runtime.launchers.spawning import activated


def make_environment(folder: Path, mark: str = "pyvenv.cfg") -> Path:
    """Return the Python of an environment, which is a link as it is in most of them."""
    (folder / "bin").mkdir(parents=True)
    (folder / mark).touch()
    (folder / "bin" / "python3").symlink_to("/usr/bin/python3")
    (folder / "bin" / "python").symlink_to("python3")
    return folder / "bin" / "python"


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta"])
def test_the_programs_of_an_environment_come_first(tmp_path: Path, mark: str) -> None:
    python = str(make_environment(tmp_path / "venv", mark))
    found = f"{tmp_path}/venv/bin"
    assert activated(python, "/usr/bin:/bin") == (python, f"{found}:/usr/bin:/bin")
    assert activated(python, "") == (python, found)


def test_a_path_that_has_them_already_stays(tmp_path: Path) -> None:
    python = str(make_environment(tmp_path / "venv"))
    path = f"/usr/bin:{tmp_path}/venv/bin"
    assert activated(python, path) == (python, path)


@pytest.mark.parametrize("target", ["venv/bin/python", "{}/venv/bin/python"])
def test_a_link_into_an_environment_is_followed(tmp_path: Path, target: str) -> None:
    make_environment(tmp_path / "venv")
    link = tmp_path / "python"
    link.symlink_to(target.format(tmp_path))
    found = f"{tmp_path}/venv/bin"
    assert activated(str(link), "/bin") == (f"{found}/python", f"{found}:/bin")


def test_without_an_environment_nothing_changes(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.touch()
    assert activated(str(python), "/opt/mpi/bin:/bin") == (str(python), "/opt/mpi/bin:/bin")
    (tmp_path / "turns").symlink_to("turns")
    assert activated(str(tmp_path / "turns"), "/bin") == (str(tmp_path / "turns"), "/bin")
    assert activated("python3", "/bin") == ("python3", "/bin")


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("/opt/my venv/bin/python", '"/opt/my venv/bin/python"'),
        ("~/my venv/bin/python", '~/"my venv/bin/python"'),
        ("~ana/venv/bin/python", '~ana/"venv/bin/python"'),
        ("python3.12", '"python3.12"'),
    ],
)
def test_a_python_is_one_word_of_the_shell_with_its_home_folder(written: str, word: str) -> None:
    assert _in_shell(written) == word
