"""The wheel and the source distribution: built from what git knows, and used as others use them."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tools.on_grids import ROOT

ADDRESS = "https://gcm.example/tree/main"
PROGRAM = """\
import runtime
from mpi4py import MPI

print("rank", MPI.COMM_WORLD.rank, "of", MPI.COMM_WORLD.size, runtime.__file__)
"""
COMMANDS = ("gcm", "gcm-deploy", "gcm-peer", "gcm-run")


def output_of(*words: str | Path, folder: Path, **variables: str) -> str:
    """Return what a command prints, in an environment that does not lead to this checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        words, cwd=folder, env={**kept, **variables},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tracked(*folders: str) -> list[str]:
    """Return the files of folders of this checkout that git knows."""
    return output_of("git", "ls-files", "-z", *folders, folder=ROOT).rstrip("\0").split("\0")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout, without what older builds have left there."""
    folder = tmp_path_factory.mktemp("tree")
    for name in tracked():
        if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/evaluation/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def built(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both distributions; the wheel is built from the source distribution."""
    folder = tmp_path_factory.mktemp("dist")
    output_of(sys.executable, "-m", "build", "--outdir", folder, folder=tree)
    return folder


@pytest.fixture
def metadata(tree: Path, tmp_path: Path) -> Callable[..., Message]:
    """Returns the metadata that a build in some environment writes."""

    def made(**variables: str) -> Message:
        words = ("setup.py", "--quiet", "egg_info", "--egg-base", tmp_path)
        output_of(sys.executable, *words, folder=tree, **variables)
        [file] = tmp_path.glob("*.egg-info/PKG-INFO")
        return email.message_from_string(file.read_text("utf-8"))

    return made


def links_of(markdown: str) -> list[str]:
    """Return where the links and pictures of a text lead to."""
    inner = [one for block in MarkdownIt().parse(markdown) for one in block.children or ()]
    return [str(one.attrs.get("href") or one.attrs["src"]) for one in inner if one.attrs]


def test_the_wheel_has_every_file_of_the_packages_and_nothing_else(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    pages = {name for name in names if ".data/data/share/man/man1/" in name}
    assert {Path(name).name for name in pages} == {f"{command}.1" for command in COMMANDS}
    assert names - pages == set(tracked("gcm", "runtime"))


def test_the_source_distribution_has_examples_and_documentation(built: Path) -> None:
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    wanted = {"CHANGELOG.md", "LICENSE", "setup.py", *tracked("examples", "descriptors")}
    assert wanted <= names
    assert {name for name in tracked("docs") if name.endswith(".md")} <= names


@pytest.mark.timeout(300)  # it builds the wheel, and fetches and unpacks 36 MB beside other tests
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_an_installed_wheel_runs_a_program_on_a_grid(
    built: Path, tmp_path: Path, version: str
) -> None:
    found = [
        *Path.home().glob(f".pyenv/versions/{version}.*/bin/python"),
        *map(Path, filter(None, [shutil.which(f"python{version}")])),
    ]
    if not found:
        pytest.skip(f"needs Python {version}")
    [wheel] = built.glob("*.whl")
    # A pip in each environment, and compiling all that is never imported, is most of the work.
    output_of(found[0], "-m", "venv", "--without-pip", "clean", folder=tmp_path)
    scripts = tmp_path / "clean" / "bin"
    pip = (sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--no-compile")
    output_of(*pip, "--quiet", f"{wheel}[mpi]", folder=tmp_path)

    (tmp_path / "program.py").write_text(PROGRAM)
    words = (scripts / "gcm-deploy", "--emulate", "2x1x2", "--report", "run.html", "program.py")
    said = sorted(output_of(*words, folder=tmp_path).splitlines())
    installed = tmp_path / "clean" / "lib" / f"python{version}" / "site-packages" / "runtime"
    assert said == [f"rank {rank} of 4 {installed / '__init__.py'}" for rank in range(4)]
    assert "<style>" in (tmp_path / "run.html").read_text("utf-8")
    for command in COMMANDS:
        names = output_of(scripts / command, "--version", folder=tmp_path).rpartition(" ")[0]
        assert names == {"gcm-run": "gcm-peer run"}.get(command, command)
        assert (tmp_path / "clean/share/man/man1" / f"{command}.1").is_file()


def test_the_description_links_to_where_the_project_is_published(
    metadata: Callable[..., Message],
) -> None:
    made = metadata(GCM_HOME_PAGE=ADDRESS)
    links = links_of(str(made.get_payload()))
    assert f"{ADDRESS}/docs/tutorial.md" in links
    assert all(link.startswith("https://") for link in links)
    assert f"Source, {ADDRESS}" in made.get_all("Project-URL", [])


def test_without_an_address_the_description_has_no_link_to_a_file(
    metadata: Callable[..., Message],
) -> None:
    made = metadata(GCM_HOME_PAGE="")
    assert all(link.startswith("https://") for link in links_of(str(made.get_payload())))
    assert "components in half an hour" in str(made.get_payload())
    assert made.get_all("Project-URL") is None
    assert [line for line in made.get_all("Classifier", []) if "3.13" in line]
