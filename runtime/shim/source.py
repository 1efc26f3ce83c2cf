"""The C text of the library: what is written by hand, and a function for each spanning handle.

Names and types are those of the header of the MPI for which it is compiled, so that nothing has to
be translated, and so that nothing is left out which only that MPI has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

from gcm.records import dataclass
from runtime.shim.functions import BY_HAND, NATIVE, SERVED, cures, function_numbers

_PROTOTYPE = re.compile(r"\bint\s+(MPIX?_\w+)\s*\(([^;{}()]*)\)[^;{}]*;")
_DEFINED = re.compile(r"^EXPORTED int (MPIX?_\w+)\(", re.MULTILINE)
_PARAMETER = re.compile(r"^(.*?)(\w+)\s*((?:\[[^\]]*\]\s*)*)$", re.DOTALL)
_CHECKS = {
    "MPI_Comm": "grid_comm({}) != NULL",
    "MPI_Group": "is_grid_group({})",
    "MPI_Message": "is_grid_message({})",
    "MPI_Request": "is_grid_request({})",
    "MPI_Win": "grid_window({}) != NULL",
    "MPI_File": "grid_file({}) != NULL",
}
"""How the handles are told that Python knows, by their types."""

_BY_HAND = ("core.c", "loaded.c")
_IN_ONE_CLUSTER = "Use a communicator of one cluster for it."
_HANDLES = ("MPI_Comm", "MPI_Group", "MPI_Message", "MPI_Request", "MPI_Win", "MPI_File")
_NULLS = {
    "MPI_Comm": "MPI_COMM_NULL",
    "MPI_Group": "MPI_GROUP_NULL",
    "MPI_Message": "MPI_MESSAGE_NULL",
    "MPI_Request": "MPI_REQUEST_NULL",
    "MPI_Win": "MPI_WIN_NULL",
    "MPI_File": "MPI_FILE_NULL",
}
"""What is there where nothing could be made."""

_SAME = ("Mrecv", "Imrecv")
"""What takes a message by its address, and leaves a null one there."""


@dataclass(frozen=True, slots=True)
class CParameter:
    """A parameter of a function as the header declares it."""

    text: str
    kind: str
    """Its type without qualifiers and stars."""
    name: str
    pointers: int
    is_constant: bool

    @property
    def word(self) -> str:
        """The expression for what Python gets of it."""
        if self.pointers == 1 and self.kind == "void":
            return f"BUFFER({self.name})"
        if self.pointers and self.kind == "MPI_Status":
            return f"STATUS({self.name})"
        if self.pointers and "weights" in self.name:
            return f"WEIGHTS({self.name})"
        if self.pointers:
            return f"(Word){self.name}"
        return f"WORD({self.name})" if self.kind.startswith("MPI_") and self.kind not in _NUMBERS \
            else f"(Word){self.name}"  # fmt: skip

    @property
    def is_made(self) -> bool:
        """Whether the function returns a handle there."""
        return self.pointers == 1 and self.kind in _HANDLES and not self.is_constant


_NUMBERS = ("MPI_Count", "MPI_Aint", "MPI_Offset", "MPI_Fint")


@dataclass(frozen=True, slots=True)
class CFunction:
    """A function of MPI as the header declares it."""

    name: str
    parameters: tuple[CParameter, ...]

    @property
    def served_as(self) -> str:
        """The function of `SERVED` that does it: itself, or that with smaller counts; "" if none.

        Arrays of large counts are other arrays.
        """
        plain = self.name.removesuffix("_c")
        has_arrays = any(one.pointers and one.kind in ("MPI_Count", "MPI_Aint")
                         for one in self.parameters)  # fmt: skip
        return plain if plain in SERVED and (plain == self.name or not has_arrays) else ""


def prototypes(header: str) -> Iterator[CFunction]:
    """Yield the functions in a header behind the preprocessor that return an error code.

    >>> text = 'extern int MPI_Bcast(void *buffer, int count, MPI_Comm comm) __attribute__((x));'
    >>> [(one.name, [each.word for each in one.parameters]) for one in prototypes(text)]
    [('MPI_Bcast', ['BUFFER(buffer)', '(Word)count', 'WORD(comm)'])]
    """
    known = set()
    for name, inside in _PROTOTYPE.findall(header):
        parameters = tuple(map(_parameter, inside.split(",")))
        if name in known or any(one is None for one in parameters):
            continue
        known.add(name)
        yield CFunction(name, tuple(one for one in parameters if one is not None))


def _parameter(text: str) -> CParameter | None:
    found = _PARAMETER.match(" ".join(text.split()))
    if found is None or not found[1].strip():
        return None
    words = found[1].replace("*", " * ").split()
    plain = [one for one in words if one not in ("*", "const", "struct", "unsigned")]
    return CParameter(
        found[0],
        " ".join(plain),
        found[2],
        words.count("*") + found[3].count("["),
        "const" in words,
    )


def source(header: str) -> str:
    """Return the text of the library for an MPI with this header, behind the preprocessor."""
    core, loaded = (files("runtime.shim").joinpath(name).read_text() for name in _BY_HAND)
    generated = "".join(map(_function, prototypes(header)))
    names = sorted({*_DEFINED.findall(core), *_DEFINED.findall(generated)})
    rows = "".join(f'    "{one}",\n' for one in names)
    return f"{core}\nstatic const char *const names_here[] = {{\n{rows}}};\n\n{loaded}{generated}"


def _function(prototype: CFunction) -> str:
    """Return the C function that stands before one of MPI; "" if none is needed."""
    name, parameters = prototype.name, prototype.parameters
    checks = [
        _CHECKS[one.kind].format(one.name)
        for one in parameters
        if one.kind in _CHECKS and not one.pointers
    ]
    taken = next((one for one in parameters if one.kind == "MPI_Message" and one.pointers), None)
    if taken is not None and name.removeprefix("MPI_") in _SAME:
        checks.append(f"is_grid_message(*{taken.name})")
    if not checks or name in NATIVE or name in BY_HAND:
        return ""
    return (
        f"\nEXPORTED int {name}({', '.join(one.text for one in parameters)}) {{\n"
        "    CHECK_LIFE();\n"
        f"    if (!({' || '.join(checks)}))\n"
        f"        return NATIVE({name})({', '.join(one.name for one in parameters)});\n"
        f"{_elsewhere(prototype)}}}\n"
    )


_OWNERS = {"MPI_File": "OF_FILE", "MPI_Win": "OF_WIN", "MPI_Comm": "OF_COMM"}


def _owner(parameters: tuple[CParameter, ...]) -> str:
    """Return the expression for the owner of the error handler: of what is given, most specific."""
    if any(one.kind == "MPI_File" and one.is_made for one in parameters):
        return "OF_FILE(MPI_FILE_NULL)"
    for kind, owner in _OWNERS.items():
        for one in parameters:
            if one.kind == kind and not one.pointers:
                return f"{owner}({one.name})"
    return "OF_COMM(MPI_COMM_WORLD)"


def _elsewhere(prototype: CFunction) -> str:
    """Return the statements for a call whose handles Python knows."""
    parameters = prototype.parameters
    owner = _owner(parameters)
    row = prototype.served_as
    if not row:
        cure = cures().get(prototype.name.removesuffix("_c"), _IN_ONE_CLUSTER)
        return f'    return refused({owner}, "{prototype.name}", "{cure}", CALLER);\n'
    made = [one for one in parameters if one.is_made]
    takes_message = prototype.name.removeprefix("MPI_").removesuffix("_c") in _SAME
    if takes_message:
        made = [one for one in made if one.kind == "MPI_Request"]
    check = "".join(
        f"    if (!{one.name}) return no_address({owner}, __func__, CALLER);\n" for one in made
    )
    words = ", ".join(
        f"WORD(*{one.name})" if takes_message and one.kind == "MPI_Message" else one.word
        for one in parameters
    )
    target = f"{made[-1].name}, sizeof *{made[-1].name}" if made else "NULL, 0"
    preset = "".join(f"    *{one.name} = {_NULLS[one.kind]};\n" for one in made)
    text = (
        f"{check}    Word words[] = {{{words}}};\n{preset}"
        f"    int code = served({owner}, {function_numbers()[row]}, words, {len(parameters)},"
        f" {target}, CALLER);\n"
    )
    if takes_message:
        name = next(one.name for one in parameters if one.kind == "MPI_Message")
        text += f"    *{name} = MPI_MESSAGE_NULL;\n"
    return f"{text}    return code;\n"
