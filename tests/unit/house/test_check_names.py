"""The rule about names of public classes, on planted faults; `make lint` checks the code."""

from __future__ import annotations

from pathlib import Path

from tools.check_names import breaches


def plant(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(text)
    return root


def test_a_name_with_two_homes_is_told_with_both(tmp_path: Path) -> None:
    root = plant(tmp_path, gcm__one="class Kind: ...\n", runtime__two="\nclass Kind: ...\n")
    (told,) = breaches(root)
    assert told.startswith("runtime/two.py:2: there is another public class Kind, in gcm/one.py:1")


def test_private_and_nested_classes_may_share_their_names(tmp_path: Path) -> None:
    text = "class _Kind: ...\nclass {}:\n    class Kind: ...\n"
    root = plant(tmp_path, gcm__one=text.format("One"), runtime__two=text.format("Two"))
    assert breaches(root) == []


def test_names_of_the_mpi_standard_may_be_used_in_its_interface(tmp_path: Path) -> None:
    text = "class Request: ...\n"
    assert breaches(plant(tmp_path, gcm__one=text, runtime__mpi__two=text)) == []
