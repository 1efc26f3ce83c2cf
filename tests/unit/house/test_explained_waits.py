"""The programs that wait for ever, by which what is told of waits is compared between commits."""

from __future__ import annotations

from tools.explained_waits.__main__ import BEGIN, PROGRAMS, SHAPES, cases


def test_all_programs_are_for_a_known_shape_and_can_be_compiled() -> None:
    found = [*cases(PROGRAMS.read_text("utf-8"))]
    assert {one.shape for one in found} == set(SHAPES)
    assert len(set(map(str, found))) == len(found)
    assert any(one.is_right for one in found)
    for one in found:
        compile(BEGIN.format(comm=SHAPES[one.shape][0]) + one.text, str(one), "exec")
