"""A program that does not find something is told what is known of it here."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm.documents import Diagnostics
from runtime.cli.missing import hints
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.deployment.planning.program_files import ProgramFiles

TEXT = (
    b'<deployment><application script="a.py"/><grid><site name="s"><cluster name="here"/>'
    b'<cluster name="there"><ssh host="h"/></cluster></site></grid></deployment>'
)
FILES = ProgramFiles(
    ignored=("data/", "parts/inner.py", "venv/"), skipped=("field.txt is a link to nothing",)
)


@pytest.fixture
def plan() -> DeploymentPlan:
    around = DescriptorContext("/home/me/heat")
    found = read_descriptor(TEXT, name="d", surroundings=around, diagnostics=Diagnostics())
    assert found is not None
    return make_plan(found, {"application": FILES})


def module(name: str, rank: str = "0:1:0") -> dict[str, str]:
    return {rank: f"ModuleNotFoundError: No module named '{name}'"}


def file(name: str, rank: str = "0:1:0") -> dict[str, str]:
    return {rank: f"FileNotFoundError: [Errno 2] No such file or directory: '{name}'"}


NOT_COPIED = "'{}' of /home/me/heat is not copied to s/there: .gcmignore or what is built in"


@pytest.mark.parametrize(
    ("error", "begin"),
    [
        (module("parts.inner"), NOT_COPIED.format("parts/inner.py")),
        (module("data.tables"), NOT_COPIED.format("data/")),
        (file("data/field.txt"), NOT_COPIED.format("data/")),
        (file("./data/field.txt"), NOT_COPIED.format("data/")),
        (file("field.txt"), "/home/me/heat: field.txt is a link to nothing"),
        (module("numpy"), "'numpy' is installed here, but the Python of s/there does not find it"),
        (file("in.txt"), "'in.txt' is in the folder where gcm-deploy was called"),
        (file("in.txt", "0:0:0"), "'in.txt' is in the folder where gcm-deploy was called"),
    ],
)
def test_what_is_known_is_told(plan: DeploymentPlan, error: dict[str, str], begin: str) -> None:
    (told,) = hints(
        plan,
        {rank.removesuffix("0") + str(number): error[rank] for rank in error for number in (0, 1)},
        exists=lambda path: path == "in.txt",
        has_module=lambda name: name == "numpy",
    )
    assert told.startswith(begin)


def test_a_cluster_that_failed_in_the_same_way_is_told_of_too(plan: DeploymentPlan) -> None:
    errors = module("numpy", "0:0:0") | module("numpy", "0:1:1") | module("numpy", "0:0:1")
    told = hints(plan, errors, exists=lambda _: False, has_module=lambda name: name == "numpy")
    assert [one for one in told if "the Python of s/there does not find it" in one]


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ({"0:0:0": "AttributeError: module 'runtime' has no attribute 'x'"}, "runtime"),
        ({"0:0:0": "ImportError: cannot import name 'x' from 'gcm' (/there.py)"}, "gcm"),
        (module("runtime.parts", "0:0:0"), "runtime"),
    ],
)
def test_a_file_that_a_package_of_ours_hides_is_named(
    plan: DeploymentPlan, error: dict[str, str], name: str
) -> None:
    known = f"/home/me/heat/{name}.py"
    (told,) = hints(plan, error, exists=lambda path: path == known)
    assert told == (
        f"'{name}.py' of /home/me/heat is not what 'import {name}' finds in a rank, but the package"
        f" '{name}' of gcm-deploy: give it another name"
    )
    assert hints(plan, error, exists=lambda _: False) == []


@pytest.mark.parametrize(
    "error",
    [
        module("unheard.of"),
        file("missing.txt"),
        file("/etc/missing.txt"),
        file("data/field.txt", "0:0:0"),  # works in place, where nothing is left out
        {},
    ],
)
def test_nothing_is_told_where_nothing_is_known(
    plan: DeploymentPlan, error: dict[str, str]
) -> None:
    assert hints(plan, error, exists=lambda _: False, has_module=lambda _: False) == []


def test_a_file_that_is_in_both_folders_is_not_taken_for_the_cause(plan: DeploymentPlan) -> None:
    here = {"in.txt", str(Path("/home/me/heat/in.txt"))}
    assert hints(plan, file("in.txt"), exists=here.__contains__) == []
