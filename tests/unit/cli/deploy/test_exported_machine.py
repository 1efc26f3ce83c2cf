"""`gcm-deploy --export-adl`: the machine as a document that is as good as a written one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from gcm.cli import main as gcm

SAMPLES = sorted(path.name for path in (Path(__file__).parents[4] / "descriptors").glob("*.xml"))
LAPTOP = (
    '<deployment><application module="runpy"/>'
    '<emulate sites="2" clusters="2" ranks="2"/></deployment>'
)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_machine_of_every_sample_is_a_good_document_and_draws(
    deploy: Callable[..., Any], samples: Path, tmp_path: Path, name: str
) -> None:
    file = tmp_path / f"{Path(name).stem}-machine.fractal"
    picture = tmp_path / "machine.svg"
    answer = deploy("--export-adl", file, samples / name)
    assert (answer.code, answer.out, answer.err) == (0, "", f"gcm-deploy: wrote {file}\n")
    assert f'<definition name="{file.stem}">' in file.read_text()
    assert gcm(["check", str(file)]) == 0
    assert gcm(["draw", "--unfold", str(file), "-o", str(picture)]) == 0
    ranks = file.read_text().count('<component name="wrapper')
    assert ranks > 0 or "nodes" in name
    assert picture.read_text().count(">wrapper") == ranks


def test_a_document_has_every_rank_in_its_cluster_and_every_cluster_in_its_site(
    deploy: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "laptop.xml").write_text(LAPTOP)
    file = tmp_path / "machine.fractal"
    assert deploy("--export-adl", file, tmp_path / "laptop.xml").code == 0
    parts = [
        "/".join(one.get("name", "") for one in (site, cluster, rank))
        for site in ElementTree.parse(file).getroot().findall("component")
        for cluster in site.findall("component")
        for rank in cluster.findall("component")
        if rank.get("name") != "clustering"
    ]
    assert parts == [
        f"site{s}/cluster{c}/wrapper{r}" for s in (0, 1) for c in (0, 1) for r in (0, 1)
    ]


@pytest.mark.parametrize("name", ["machine.xml", "machine", ".fractal", "a\nb.fractal"])
def test_a_file_that_no_document_can_be_named_like_is_refused(
    deploy: Callable[..., Any], samples: Path, name: str
) -> None:
    answer = deploy("--export-adl", name, samples / "laptop.xml")
    assert (answer.code, answer.out) == (202, "")
    assert "is not a file whose name ends in .fractal" in answer.err


def test_a_file_that_cannot_be_written_is_named_with_the_reason(
    deploy: Callable[..., Any], samples: Path, tmp_path: Path
) -> None:
    file = tmp_path / "nowhere" / "machine.fractal"
    answer = deploy("--export-adl", file, samples / "quickstart.xml")
    assert (answer.code, answer.out) == (205, "")
    assert answer.err == (
        f"gcm-deploy: the machine cannot be written to '{file}': No such file or directory."
        " Name a file in a folder that is there and may be written to\n"
    )


def test_a_faulty_descriptor_makes_no_document(deploy: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "faulty.xml").write_text("<deployment/>")
    file = tmp_path / "machine.fractal"
    assert deploy("--export-adl", file, tmp_path / "faulty.xml").code == 201
    assert not file.exists()
