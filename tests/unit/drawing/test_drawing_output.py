"""The ending of a file decides the format of a picture; colours are the reader's or chosen."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import pytest
from lxml import etree

from gcm.drawing import Box, Colours, OutputError, Scene, check_ending, draw, write_picture
from gcm.drawing.output import SCALE

PICTURE = draw(Scene(Box("alone")))
LIGHT_GROUND, DARK_GROUND = "#ffffff", "#0f172a"


def test_an_svg_file_holds_the_picture(tmp_path: Path) -> None:
    write_picture(PICTURE, str(tmp_path / "a.SVG"))
    assert (tmp_path / "a.SVG").read_text("utf-8") == PICTURE


def test_a_png_file_holds_the_picture_in_twice_its_size(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    write_picture(PICTURE, str(tmp_path / "a.png"))
    data = (tmp_path / "a.png").read_bytes()
    root = etree.fromstring(PICTURE.encode())
    size = tuple(SCALE * int(root.get(side, "")) for side in ("width", "height"))
    assert data.startswith(b"\x89PNG")
    assert struct.unpack(">II", data[16:24]) == size


def test_a_light_and_a_dark_png_differ(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    for colours in Colours:
        write_picture(PICTURE, str(tmp_path / f"{colours}.png"), colours=colours)
    auto, light, dark = [(tmp_path / f"{colours}.png").read_bytes() for colours in Colours]
    assert auto == light != dark


@pytest.mark.parametrize(
    ("colours", "grounds", "media"),
    [
        (Colours.AUTO, [LIGHT_GROUND, DARK_GROUND], 1),
        (Colours.LIGHT, [LIGHT_GROUND], 0),
        (Colours.DARK, [LIGHT_GROUND, DARK_GROUND], 0),
    ],
)
def test_an_svg_picture_has_the_colours_that_were_asked_for(
    tmp_path: Path, colours: Colours, grounds: list[str], media: int
) -> None:
    write_picture(PICTURE, str(tmp_path / "a.svg"), colours=colours)
    written = (tmp_path / "a.svg").read_text("utf-8")
    style = etree.fromstring(written.encode()).findtext("{*}style") or ""
    rules = [line for line in style.splitlines() if line.startswith(".ground{")]
    assert rules == [f".ground{{fill:{ground}}}" for ground in grounds]
    assert style.count("@media") == media
    assert style.count("{") == style.count("}")


@pytest.mark.parametrize(
    ("file", "why"),
    [
        ("a.pdf", "'.pdf' is not a picture format. The ending has to be .svg or .png$"),
        ("a.pgn", "'.pgn' is not a picture format. .*; did you mean '.png'?"),
        ("a", "the name has no ending. The ending has to be .svg or .png$"),
    ],
)
def test_any_other_ending_is_refused_with_those_that_are_possible(file: str, why: str) -> None:
    with pytest.raises(OutputError, match=why):
        check_ending(file)


def test_a_missing_library_is_told_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(OutputError, match=r"resvg_py, which is not installed. .*gcm-grid\[png\]"):
        write_picture(PICTURE, str(tmp_path / "a.png"))
    assert not list(tmp_path.iterdir())
