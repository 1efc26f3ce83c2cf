"""Whatever is wrong with a document or a class, the commands say so and never fail themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Gcm = Callable[..., tuple[int, str, str]]

GOOD = """
from __future__ import annotations
from typing import Annotated, Protocol
from gcm import attribute, provides, requires

class Runnable(Protocol):
    def run(self) -> int: ...

class Greeter(Protocol):
    def greet(self, name: str) -> str: ...

@provides("run", Runnable)
class Client:
    greeter: Annotated[Greeter, requires()]
    size: Annotated[int, attribute()] = 1

    def run(self) -> int:
        return 0

@provides("greeter", Greeter)
class Server:
    def greet(self, name: str) -> str:
        return name
"""

BROKEN = """
def helper():
    return 1 / 0

helper()
"""

DEEP = 100_000


def document(name: str, body: str, **attributes: str) -> str:
    more = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f'<definition name="{name}"{more}>\n{body}\n</definition>\n'


BAD_FILES: dict[str, tuple[bytes | str, int, str]] = {
    "malformed": ("<definition name='malformed'>\n<component>\n</definition>", 2, "malformed-xml"),
    "empty": ("", 1, "malformed-xml"),
    "notxml": (b"\x00\x01\x02 this is no text", 1, "malformed-xml"),
    "latin": (
        '<?xml version="1.0" encoding="utf-8"?>\n<!-- caf\xe9 -->\n'.encode("latin-1"),
        2,
        "wrong-encoding",
    ),
    "klingon": ('<?xml version="1.0" encoding="klingon"?>\n<definition/>', 1, "wrong-encoding"),
    "laughs": (
        "<!DOCTYPE d [\n"
        + "<!ENTITY a0 'ha'>\n"
        + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>\n" for n in range(1, 20))
        + "]>\n<definition name='laughs'><comment>&a19;</comment></definition>",
        23,
        "entity-refused",
    ),
    "external": (
        "<!DOCTYPE d [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>\n"
        "<definition name='external'><comment>&a;</comment></definition>",
        2,
        "entity-refused",
    ),
    "deep": (
        "<definition name='deep'>"
        + "\n<component name='c'>" * DEEP
        + "</component>" * DEEP
        + "</definition>",
        65,
        "too-deep",
    ),
    "itself": ("<definition name='itself' extends='itself'/>", 1, "extends-cycle"),
    "russian": (
        document("russian", '<component name="doll" definition="russian"/>'),
        2,
        "definition-cycle",
    ),
    "nomodule": (
        document("nomodule", '<component name="a">\n<content class="absent.A"/></component>'),
        3,
        "missing-module",
    ),
    "noclass": (
        document("noclass", '<component name="a">\n<content class="good.Sever"/></component>'),
        3,
        "missing-class",
    ),
    "broken_import": (
        document("broken_import", '<component name="a">\n<content class="broken.A"/></component>'),
        3,
        "import-error",
    ),
    "noattribute": (
        document(
            "noattribute",
            '<content class="good.Client"/>\n<attributes>\n<attribute name="sise" value="2"/>'
            "</attributes>",
        ),
        4,
        "unknown-attribute",
    ),
    "badvalue": (
        document(
            "badvalue",
            '<content class="good.Client"/>\n<attributes>\n<attribute name="size" value="big"/>'
            "</attributes>",
        ),
        4,
        "bad-value",
    ),
    "badarguments": (document("badarguments", "", arguments="a,a"), 1, "malformed-arguments"),
    "badcall": (
        document("badcall", '<component name="a" definition="needy(1,2,3)"/>'),
        2,
        "too-many-arguments",
    ),
    "badmembrane": (
        document("badmembrane", '<content class="good.Server"/>\n<controller desc="good.Server"/>'),
        3,
        "not-a-membrane",
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "needy.fractal").write_text(
        '<definition name="needy" arguments="size"><content class="good.Client"/></definition>'
    )
    return tmp_path


def put(folder: Path, name: str, content: bytes | str) -> str:
    data = content if isinstance(content, bytes) else content.encode("utf-8")
    (folder / f"{name}.fractal").write_bytes(data)
    return f"{name}.fractal"


@pytest.mark.parametrize("command", ["check", "run"])
@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_input_is_one_located_fault_and_no_traceback_of_ours(
    gcm: Gcm, folder: Path, name: str, command: str
) -> None:
    content, line, code = BAD_FILES[name]
    file = put(folder, name, content)
    status, out, err = gcm(command, file)
    told = out if command == "check" else err
    assert status == 1
    assert f"{file}:{line}: error[{code}]: " in told
    assert "/gcm/" not in out + err
    assert ("Traceback" in told) == (name == "broken_import")


def test_the_traceback_of_a_failing_import_is_that_of_the_user(gcm: Gcm, folder: Path) -> None:
    file = put(folder, "broken_import", BAD_FILES["broken_import"][0])
    lines = gcm("check", file)[1].splitlines()
    assert lines[1:7:2] == [
        "    Traceback (most recent call last):",
        "        helper()",
        "        return 1 / 0",
    ]
    assert lines[-2:] == ["    ZeroDivisionError: division by zero", "1 fault in 1 file"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("noclass", "did you mean 'Server'?"),
        ("noattribute", "did you mean 'size'?"),
        ("badcall", "declared: size"),
    ],
)
def test_the_nearest_name_is_suggested(gcm: Gcm, folder: Path, name: str, hint: str) -> None:
    assert hint in gcm("check", put(folder, name, BAD_FILES[name][0]))[1]


def test_what_cannot_be_read_is_told(gcm: Gcm, folder: Path) -> None:
    code, out, err = gcm("check", "none.fractal", ".", "good.py")
    assert (code, err) == (1, "")
    assert "none.fractal: error[missing-file]" in out
    assert ".: error[not-a-file]" in out
    assert "good.py:2: error[malformed-xml]" in out
    assert out.endswith("\n3 faults in 3 files\n")


PLANTED = """\
<definition name="planted">
  <interface name="run" role="sever" signature="good.Runnable"/>
  <component name="client">
    <content class="good.Client"/>
    <attributes><attribute name="sise" value="3"/></attributes>
  </component>
  <component name="server">
    <content class="good.Servr"/>
  </component>
  <component name="logger" definition="absent"/>
  <component name="cache" definition="./sever"/>
  <component name="plain"><content class="good.Server"/><colour/></component>
  <binding client="client.greeter" server="plain.greting"/>
</definition>
"""


def test_seven_planted_faults_are_seven_located_faults(gcm: Gcm, folder: Path) -> None:
    file = put(folder, "planted", PLANTED)
    code, out, _ = gcm("check", file)
    lines = out.splitlines()
    assert code == 1
    faults = [line for line in lines[:-1] if not line.startswith(" ")]
    assert [line.partition("]")[0] for line in faults] == [
        f"{file}:2: error[unknown-role",
        f"{file}:5: error[unknown-attribute",
        f"{file}:8: error[missing-class",
        f"{file}:10: error[missing-definition",
        f"{file}:11: error[missing-component",
        f"{file}:12: error[unknown-element",
        f"{file}:13: error[unknown-interface",
    ]
    assert lines[-1] == "7 faults in 1 file"
