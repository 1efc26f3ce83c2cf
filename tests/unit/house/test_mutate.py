"""The mutation runner, on a package of a few lines."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.mutants import Mutant, find_mutants
from tools.mutate import Options, Tried, choose, report, run
from tools.on_grids import ROOT
from tools.workshop import BrokenTestsError, Verdict


def mutants_of(source: str) -> set[tuple[str, str]]:
    return {(one.original, one.replacement) for one in find_mutants(source.encode(), "x.py")}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a == b", {("a == b", "(a != b)")}),
        ("a < b", {("a < b", "(a <= b)"), ("a < b", "(a >= b)")}),
        ("a <= b", {("a <= b", "(a < b)"), ("a <= b", "(a > b)")}),
        ("a is b", {("a is b", "(a is not b)")}),
        ("a not in b", {("a not in b", "(a in b)")}),
        ("a and b", {("a and b", "(a or b)")}),
        ("a or b", {("a or b", "(a and b)")}),
        ("not a", {("not a", "(a)")}),
        ("a + b", {("a + b", "(a - b)")}),
        ("a += b", {("a += b", "a -= b")}),
        ("x = True", {("True", "(False)")}),
        ("x = 3", {("3", "(4)"), ("3", "(2)")}),
        ("x = 'name'", {("'name'", "('name~')")}),
        ("x = b'raw'", {("b'raw'", "(b'raw~')")}),
        ("def f():\n    return a", {("return a", "return None")}),
        ("f()", {("f()", "pass")}),
        ("raise error", {("raise error", "pass")}),
        ("del a[b]", {("del a[b]", "pass")}),
        ("for a in b:\n    break", {("break", "continue")}),
        ("for a in b:\n    continue", {("continue", "break")}),
        ("if a:\n    b", {("a", "(not a)")}),
        ("while a.b:\n    c", {("a.b", "(not a.b)")}),
        ("x = a if b else c", {("b", "(not b)")}),
        ("x = [a for a in b if c]", {("c", "(not c)")}),
        ("match a:\n    case 'b':\n        pass", {("'b'", "('b~')")}),
    ],
)
def test_every_kind_of_fault_is_planted(source: str, expected: set[tuple[str, str]]) -> None:
    assert mutants_of(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "def f(a: 'int | str' = b) -> 'A | B': ...",
        "x: list['int'] = y",
        "@dataclass(frozen=True)\nclass A:\n    pass",
        "if TYPE_CHECKING:\n    x = 1",
        "if __name__ == '__main__':\n    f()",
        "assert a == 1",
        "logger.debug('text', 1)",
        "x = f'{a + 1} text'",
        "__all__ = ['a']",
        "T = TypeVar('T', bound='A')",
        "import a",
        "def f():\n    return None",
        "def f():\n    return",
        "match a:\n    case -1:\n        pass",
    ],
)
def test_what_no_test_could_tell_apart_is_left_alone(source: str) -> None:
    assert mutants_of(source) == set()


def test_a_mutant_changes_its_own_piece_only() -> None:
    source = "ä = 'ö' # é\nif (a <\n        1):\n    b()\n".encode()
    changed = [one.apply(source).decode() for one in find_mutants(source, "x.py")]
    assert "ä = ('ö~') # é\nif (a <\n        1):\n    b()\n" in changed
    assert "ä = 'ö' # é\nif ((a <= 1)):\n    b()\n" in changed
    assert "ä = 'ö' # é\nif (a <\n        1):\n    pass\n" in changed


@given(st.sampled_from(sorted((ROOT / "tools").glob("*.py"))))
def test_every_mutant_of_real_code_can_be_parsed(path: Path) -> None:
    source = path.read_bytes()
    for mutant in find_mutants(source, path.name)[::37]:
        ast.parse(mutant.apply(source))


SAMPLE = {
    "gcm/__init__.py": "",
    "gcm/flag.py": "FLAG = True\n",
    "gcm/ages/__init__.py": "",
    "gcm/ages/rules.py": "def is_old(age):\n    return age > 99\n",
    "tests/unit/ages/test_rules.py": (
        "from gcm.ages.rules import is_old\n\n\ndef test_old():\n    assert is_old(120)\n"
    ),
    "tests/unit/test_elsewhere.py": (
        "from gcm.flag import FLAG\n\n\ndef test_flag():\n    assert FLAG is True\n"
    ),
}


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    root = tmp_path / "sample"
    for name, source in SAMPLE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(source)
    shutil.copy(ROOT / "setup.cfg", root)
    return root


def test_survivors_are_listed_and_the_tree_stays_as_it_was(sample: Path) -> None:
    tried, total = run(Options(sample, paths=("gcm/ages",), jobs=2))
    assert len(tried) == total == 5
    survivors = {str(one.mutant) for one in tried if one.verdict is Verdict.SURVIVED}
    assert survivors == {
        "gcm/ages/rules.py:2: 99 -> (100)",
        "gcm/ages/rules.py:2: 99 -> (98)",
        "gcm/ages/rules.py:2: age > 99 -> (age >= 99)",
    }
    for name, source in SAMPLE.items():
        assert (sample / name).read_text() == source


def test_a_fault_may_be_noticed_by_tests_of_another_package(sample: Path) -> None:
    ((tried,), _) = run(Options(sample, paths=("gcm/flag.py",), jobs=1))
    assert (str(tried.mutant), tried.verdict) == ("gcm/flag.py:1: True -> (False)", Verdict.KILLED)


def test_a_mutant_that_hangs_is_noticed(sample: Path) -> None:
    (sample / "gcm/flag.py").write_text("FLAG = True\nwhile not FLAG:\n    pass\n")
    tried, _ = run(Options(sample, paths=("gcm/flag.py",), jobs=2, seconds=(2.0, 0.0)))
    assert {str(one.mutant): one.verdict for one in tried} == {
        "gcm/flag.py:1: True -> (False)": Verdict.HUNG,
        "gcm/flag.py:2: not FLAG -> (FLAG)": Verdict.HUNG,
    }


def test_broken_tests_are_refused(sample: Path) -> None:
    (sample / "tests/unit/test_broken.py").write_text("def test_broken():\n    assert False\n")
    with pytest.raises(BrokenTestsError, match=r"missing without any mutant(.|\n)*test_broken"):
        run(Options(sample, paths=("gcm/flag.py",), jobs=1))


def test_a_spent_budget_ends_the_run(sample: Path) -> None:
    assert run(Options(sample, budget_seconds=0.0, jobs=1)) == ([], 6)


def test_the_seed_decides_the_sample(sample: Path) -> None:
    first = choose(Options(sample, seed=1, sample=4))
    assert len(first) == 4
    assert choose(Options(sample, seed=1, sample=4)) == first
    assert choose(Options(sample, seed=2, sample=4)) != first


def test_the_report_gives_a_score_for_each_module() -> None:
    def tried(file: str, line: int, verdict: Verdict) -> Tried:
        return Tried(Mutant(file, line, line, line, "a < b", "(a <= b)"), verdict)

    results = [
        tried("gcm/a.py", 9, Verdict.SURVIVED),
        tried("gcm/a.py", 3, Verdict.SURVIVED),
        tried("gcm/a.py", 4, Verdict.KILLED),
        tried("gcm/b.py", 1, Verdict.HUNG),
    ]
    assert report(results, 7).splitlines() == [
        "module    mutants  noticed",
        "gcm/a.py        3   33.3 %",
        "gcm/b.py        1  100.0 %",
        "all             4   50.0 %",
        "",
        "4 of 7 mutants tried, 2 survived:",
        "  gcm/a.py:3: a < b -> (a <= b)",
        "  gcm/a.py:9: a < b -> (a <= b)",
    ]
