"""Reads the program of an application: its kind, its file or module, its folder."""

from __future__ import annotations

import posixpath

from gcm.documents import CheckedElement, Severity
from runtime.deployment.context import Reading, distinct
from runtime.deployment.environment import is_name, is_pattern, matching
from runtime.deployment.model import Deployment, ProgramKind
from runtime.deployment.planning.workplace import workplace_of
from runtime.web_address import WebAddress, is_web_address


def read_program(
    entry: CheckedElement, name: str, reading: Reading
) -> tuple[ProgramKind, str, str]:
    """Return the kind of a program, its path or the name of its module, and the program folder."""
    kind, written = _written(entry, name, reading)
    if kind is ProgramKind.SCRIPT and is_web_address(written):
        return kind, _name_on_web(written), _folder(entry, name, "", reading)
    is_here = entry["stage"]
    is_file = kind is ProgramKind.SCRIPT or (kind is ProgramKind.EXECUTABLE and "/" in written)
    path = reading.path(written) if is_file else written
    is_of_each = kind is ProgramKind.EXECUTABLE and "{" in path  # see `Workplace.program_of`
    if is_file and is_here and not is_of_each:
        reading.existing(written, f"the {kind} of application '{name}'", entry.location)
    folder = _folder(entry, name, path if is_file else "", reading)
    if kind is ProgramKind.MODULE and written and is_here:
        _find_module(written, folder, entry, reading)
    return kind, path, folder


def _name_on_web(written: str) -> str:
    """Return how a script of a web server is called where ranks start; it comes as an input."""
    try:
        return WebAddress.parse(written).name
    except ValueError:  # it is reported where the input is read
        return ""


def _written(entry: CheckedElement, name: str, reading: Reading) -> tuple[ProgramKind, str]:
    written = [kind for kind in ProgramKind if entry.has(kind)]
    if not written and entry.incomplete:
        return ProgramKind.SCRIPT, ""
    if len(written) != 1:
        what = " and ".join(written) if written else "none of them"
        reading.fault(
            "one-program",
            f"application '{name}' needs exactly one of script, module and executable; "
            f"it has {what}",
            entry.location,
        )
        return ProgramKind.SCRIPT, ""
    kind = written[0]
    path = entry[kind]
    if not path:
        reading.fault("empty-program", f"{kind} of application '{name}' is empty", entry.location)
    return kind, path


def _folder(entry: CheckedElement, name: str, path: str, reading: Reading) -> str:
    """Return the program folder; `path` is the program's file, empty if it is none."""
    if not entry["folder"]:
        common = path.partition("{")[0]  # of `{cluster}`, the folder in which there are several
        return posixpath.dirname(common) if path else reading.context.folder
    folder = reading.path(entry["folder"])
    if not entry["stage"]:
        return folder
    exists = reading.context.exists
    reading.existing(entry["folder"], f"the program folder of application '{name}'", entry.location)
    if exists(folder) and not exists(posixpath.join(folder, ".")):
        reading.fault(
            "no-folder",
            f"the program folder of application '{name}' '{folder}' is a file",
            entry.location,
            hint="name the folder it is in",
        )
    return folder


def _find_module(module: str, folder: str, entry: CheckedElement, reading: Reading) -> None:
    """Report a module that is neither in the program folder nor installed."""
    base = posixpath.join(folder, *module.split("."))
    if any(reading.context.exists(one) for one in (f"{base}.py", f"{base}/__main__.py")):
        return
    if reading.context.is_installed(module):
        return
    reading.fault(
        "no-such-module",
        f"there is no module '{module}' in the program folder, and none is installed here",
        entry.location,
        hint=f'it was looked for in {folder}; name its folder in folder="...", '
        'or write stage="no" if it is there on the clusters',
    )


def check_programs(deployment: Deployment, reading: Reading) -> None:
    """Report programs that would not be in the copies of their program folders."""
    for cluster in deployment.clusters():
        code = deployment.application_of(cluster)
        is_staged = workplace_of(deployment, cluster).is_staged
        if code is not None and is_staged and code.is_file and code.path and not code.is_inside:
            reading.fault(
                "program-outside",
                f"the {code.kind} of application '{code.name}' is not in its program folder, "
                f"which is all that is copied to {cluster.path}",
                code.location,
                hint=f"{code.path} is not below {code.folder}; name a folder that holds both",
            )
            return


def check_copies(deployment: Deployment, reading: Reading) -> None:
    """Warn of copies for several machines at a place that only one of them may see."""
    for cluster in deployment.clusters():
        hosts = {node.host for node in cluster.nodes if node.ranks}
        hosts |= {one.host for one in cluster.spares if one.asked_for is not None}
        if len(hosts) == 1 or cluster.front_end.folder or not cluster.application:
            continue
        if workplace_of(deployment, cluster).is_copy:
            reading.diagnostics.report(
                "copy-of-one-machine",
                f"the ranks of cluster '{cluster.path}' have {len(hosts)} machines and work in a "
                "copy, which is made in the temporary folder of its front-end",
                cluster.location,
                hint='name a folder that all of them share: <front-end folder="..."/>',
                severity=Severity.WARNING,
            )


def read_arguments(entry: CheckedElement) -> tuple[str, ...]:
    """Return the words of `arguments`, then the <argument> elements."""
    return (*entry["arguments"], *(child["value"] for child in entry.each("argument")))


def read_environment(entry: CheckedElement, reading: Reading) -> dict[str, str]:
    """Return the variables of the <environment> elements of an entry.

    Those without a value have the caller's; one written with a value wins over a pattern.
    """
    children = [child for child in entry.each("environment") if child.has("name")]
    named = ((child["name"], child.location) for child in children)
    distinct(reading, "environment variable", named)
    found: dict[str, str] = {}
    for child in children:
        if not is_name(child["name"], or_pattern=not child.has("value")):
            reading.fault(
                "bad-variable-name",
                f"'{child['name']}' is not the name of an environment variable",
                child.location,
                hint="use letters, digits and '_', and '*' only where there is no value",
            )
        elif not child.has("value") and not child.incomplete:
            found |= _callers(child, reading)
    return found | {one["name"]: one["value"] for one in children if one.has("value")}


def _callers(entry: CheckedElement, reading: Reading) -> dict[str, str]:
    """Return the caller's values for an <environment> element that has none of its own."""
    name = entry["name"]
    found = matching(name, reading.context.environment)
    if not found:
        none = f"none is like '{name}'" if is_pattern(name) else f"there is no '{name}'"
        reading.fault(
            "no-such-variable",
            f'<environment name="{name}"/> has no value, and {none} in the environment',
            entry.location,
            hint='set it before the start, or write value="..."; value="" is an empty one',
        )
    return found
