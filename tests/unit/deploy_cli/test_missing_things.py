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


def module(name: str, rank: str = "rank 1 (s/there 0)") -> str:
    return (
        f"{rank} on n7 (process 3) failed: ended with ModuleNotFoundError: No module named '{name}'"
    )


def file(name: str, rank: str = "rank 1 (s/there 0)") -> str:
    return f"{rank} on n7: FileNotFoundError: [Errno 2] No such file or directory: '{name}'"


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
        (
            file("in.txt", "rank 0 (s/here 0)"),
            "'in.txt' is in the folder where gcm-deploy was called",
        ),
    ],
)
def test_what_is_known_is_told(plan: DeploymentPlan, error: str, begin: str) -> None:
    (told,) = hints(
        plan,
        [error, error],
        exists=lambda path: path == "in.txt",
        has_module=lambda name: name == "numpy",
    )
    assert told.startswith(begin)


def test_a_cluster_that_failed_in_the_same_way_is_told_of_too(plan: DeploymentPlan) -> None:
    errors = [
        module("numpy", "rank 0 (s/here 0)"),
        "2 more failed in the same way (rank 1 (s/here 1), ranks 2-3 (s/there 0-1))",
    ]
    told = hints(plan, errors, exists=lambda _: False, has_module=lambda name: name == "numpy")
    assert [one for one in told if "the Python of s/there does not find it" in one]


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (
            "rank 0 (s/here 0) on n7: AttributeError: module 'runtime' has no attribute 'x'",
            "runtime",
        ),
        (
            "rank 0 (s/here 0) on n7: ImportError: cannot import name 'x' from 'gcm' (/there.py)",
            "gcm",
        ),
        (module("runtime.parts", "rank 0 (s/here 0)"), "runtime"),
    ],
)
def test_a_file_that_a_package_of_ours_hides_is_named(
    plan: DeploymentPlan, error: str, name: str
) -> None:
    known = f"/home/me/heat/{name}.py"
    (told,) = hints(plan, [error], exists=lambda path: path == known)
    assert told == (
        f"'{name}.py' of /home/me/heat is not what 'import {name}' finds in a rank, but the package"
        f" '{name}' of gcm-deploy: give it another name"
    )
    assert hints(plan, [error], exists=lambda _: False) == []


@pytest.mark.parametrize(
    "error",
    [
        module("unheard.of"),
        file("missing.txt"),
        file("/etc/missing.txt"),
        file("data/field.txt", "rank 0 (s/here 0)"),  # works in place, where nothing is left out
        "the deployment failed",
        module("numpy", "rank 7 (s/nowhere 7)"),
    ],
)
def test_nothing_is_told_where_nothing_is_known(plan: DeploymentPlan, error: str) -> None:
    assert hints(plan, [error], exists=lambda _: False, has_module=lambda _: False) == []


def test_a_file_that_is_in_both_folders_is_not_taken_for_the_cause(plan: DeploymentPlan) -> None:
    here = {"in.txt", str(Path("/home/me/heat/in.txt"))}
    assert hints(plan, [file("in.txt")], exists=here.__contains__) == []


@pytest.mark.parametrize("rank", ["rank 1", "rank 1 of heat", "rank 1, replica 2"])
def test_the_only_cluster_is_known_without_being_named(rank: str) -> None:
    text = TEXT.replace(b'<cluster name="here"/>', b"")
    around = DescriptorContext("/home/me/heat")
    found = read_descriptor(text, name="d", surroundings=around, diagnostics=Diagnostics())
    assert found is not None
    plan = make_plan(found, {"application": FILES})
    (told,) = hints(plan, [module("data", rank)], has_module=lambda _: False)
    assert told.startswith(NOT_COPIED.format("data/"))


@pytest.mark.parametrize("rank", ["rank 1 of heat (s/there 0)", "rank 0, replica 1 (s/there 0)"])
def test_a_rank_is_found_by_its_cluster(plan: DeploymentPlan, rank: str) -> None:
    (told,) = hints(plan, [module("data", rank)], has_module=lambda _: False)
    assert told.startswith(NOT_COPIED.format("data/"))
