"""Tells which arriving files a later run, or a tool, would execute, import or read as instructions.

What a cluster wrote is data. The account there may be in other hands, so nothing of it becomes a
program here: such files get the name of their cluster, under which nothing loads them.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress

from gcm.documents import local_name
from gcm.records import dataclass
from runtime.deployment.model import DeployedCluster, Deployment, SshHop


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PROGRAMS = _words("""
    py pyw pyc pyo pyd pyi pyz pth egg egg-link whl so dylib dll exe com elf run jar class wasm
    sh bash zsh csh tcsh ksh fish bat cmd ps1 fractal xsd dtd
""")
"""Python, libraries, programs, shells, and what is read here."""
_SOURCES = _words("""
    pyx pxd pxi c h cc cpp cxx hpp hh cu cuh cl ptx cubin ll f f03 f08 f77 f90 f95
    r rmd qmd jl m go rs java kt scala ts php pm pl rb lua js mjs tcl gp gnuplot awk sed el vim
    mk mak cmake ninja gradle tf service desktop
""")
"""What compilers, interpreters and tools of builds are given, often by a pattern."""
_JOBS = _words("sbatch slurm pbs lsf sge oar job nf wdl cwl smk def dockerfile")
"""Jobs of batch systems, workflows and containers."""
_OPENED = _words("ipynb html htm xhtml mhtml hta svg docm xlsm pptm")
"""Documents that run a program when they are opened."""
_SETTINGS = _words("""
    makefile gnumakefile dockerfile containerfile snakefile justfile rakefile gemfile pipfile
    make.inc build.xml pom.xml cmakelists.txt meson.build sconstruct sconscript wscript
    package.json package-lock.json tsconfig.json composer.json go.mod jenkinsfile.groovy
    requirements.txt constraints.txt setup.cfg tox.ini pytest.ini mypy.ini pyvenv.cfg ansible.cfg
    matplotlibrc condarc pipfile.lock nextflow.config head
    environment.yml environment.yaml docker-compose.yml docker-compose.yaml compose.yml compose.yaml
    mkdocs.yml action.yml taskfile.yml dvc.yaml conda.yml conda.yaml meta.yaml
    latexmkrc jupyter_config.json agents.md claude.md claude.local.md gemini.md
""")
"""What tools look for by name. `HEAD` makes a folder a repository of git, whose settings name
programs to run; agents that write code do what a few texts beside it say."""
_SETTINGS_ENDINGS = _words("toml")
_TOOL_FILE = re.compile(r"[A-Z][A-Za-z]*file")
"""`Pipfile`, `Snakefile`, `Justfile`: each tool calls its file so."""
_HIDDEN_DATA = _words(".zarray .zattrs .zgroup .zmetadata")
"""What stores of arrays (Zarr) have beside their arrays, and cannot be opened without."""
_SITES = ("site-packages", "dist-packages", "node_modules")
_SAVED = (b"PK\x03\x04", b"\x80")
"""How models begin that PyTorch has saved as `*.pth`, which is elsewhere a list of modules."""
_PACKAGES = (".dist-info", ".egg-info", ".egg")
_ENDINGS = _PROGRAMS | _SOURCES | _JOBS | _OPENED | _SETTINGS_ENDINGS
_LIBRARY = re.compile(r".*\.so(\.\d+)+")
_MAGIC = (b"#!", b"\x7fELF", b"!<arch>")
_ROOTS = ("deployment", "definition", "componentConfiguration")
"""The documents that are read as instructions here."""
_PROLOGUE = 1 << 16
"""Bytes of an XML document in which its root element has to come for it to be data."""


def own_name(target: str, owner: DeployedCluster) -> str:
    """Return the name under which a file of a cluster is kept beside one that has its name.

    A cluster may be called `py`: then the name goes on, for nothing must load it.
    """
    name = f"{target}.{owner.path.replace('/', '.')}"
    return f"{name}.kept" if _plain(name).rpartition(".")[2] in _ENDINGS - _SOURCES else name


@dataclass(frozen=True, slots=True)
class Instructions:
    """Judges files by name and first bytes; `named` are paths that descriptor or command line use.

    They decide on new files; those of the user are never replaced anyway. So what matters is that
    nothing appears that is found by its name, or picked up by a pattern, or run by being opened.
    The rights that a file has where it was made say nothing: some file systems let everybody
    execute everything. No data comes with the right to run.
    """

    named: frozenset[str] = frozenset()

    @classmethod
    def of(cls, deployment: Deployment) -> Instructions:
        """Return the rules for the program folders of a deployment."""
        folders = {deployment.folder, *(one.folder for one in deployment.applications)}
        paths = (
            os.path.join(os.path.expanduser(folder), os.path.expanduser(path))
            for path in filter(None, _used(deployment))
            for folder in folders
        )
        return cls(frozenset(_plain(os.path.realpath(one)) for one in paths))

    def place(self, target: str, path: str, owner: DeployedCluster, part: str = "") -> str:
        """Return where a file or link is put: `target`, or a name under which nothing loads it.

        `path` is the end of `target` that its cluster chose; `part` is the file until it is put.
        """
        *above, last = path.split("/")
        names = [own_name(one, owner) if _is_loaded_as_folder(one) else one for one in above]
        is_loaded = _is_loaded_as_file(last) and not (part and _is_model(target, part))
        is_program = bool(part) and _begins_as_program(part)
        if self._is_named(target) or is_loaded or is_program or _instructs(last, part):
            last = own_name(last, owner)
        return target.removesuffix(path) + "/".join((*names, last))

    def folder(self, target: str, path: str, owner: DeployedCluster) -> str:
        """Return where a folder is made; see `place`."""
        return self.place(f"{target}/x", f"{path}/x", owner).removesuffix("/x")

    def link(self, target: str, path: str, owner: DeployedCluster, leads_to: str) -> str:
        """Return where a link is made; see `place`.

        One to a package would be imported under its name, and one into a folder that is looked
        into for settings or modules would let others write there.
        """
        above, name = os.path.split(self.place(target, path, owner))
        there = os.path.join(os.path.dirname(target), leads_to)
        is_folder = name == os.path.basename(target) and os.path.isdir(there)
        leads_astray = any(
            _is_loaded_as_folder(one) for one in leads_to.split("/") if one not in (".", "..")
        )
        if leads_astray or (is_folder and (_is_loaded_as_folder(name) or _is_package(there))):
            name = own_name(name, owner)
        return os.path.join(above, name)

    def _is_named(self, target: str) -> bool:
        above, name = os.path.split(target)
        return _plain(os.path.join(os.path.realpath(above), name)) in self.named


def _used(deployment: Deployment) -> Iterator[str]:
    """Yield the files that a descriptor names for the launcher, beside the modules of a program."""
    for code in deployment.applications:
        yield code.location.file
        yield code.path if code.is_file else ""
    for cluster in deployment.clusters():
        yield from (cluster.location.file, cluster.mpi.command_path, cluster.front_end.python)
        yield from _used_by(cluster.hops)
    for process in deployment.processes:
        yield from (process.program, process.command_path)
        yield from _used_by(process.hops)
    if deployment.assembly is not None:
        yield deployment.assembly.file
    if deployment.peers is not None:
        yield deployment.peers.credential
    yield from deployment.typed  # lists of hosts, and of files to copy


def _used_by(hops: tuple[SshHop, ...]) -> Iterator[str]:
    for hop in hops:
        yield from (hop.command_path, hop.key, hop.known_hosts)


def _plain(name: str) -> str:
    """Return a name as the most forgiving file system compares it.

    >>> _plain("TWO.PY "), _plain("two.p\\u200dy")
    ('two.py', 'two.py')
    """
    text = unicodedata.normalize("NFKC", name).casefold()
    return "".join(one for one in text if unicodedata.category(one) != "Cf").rstrip(". ")


def _is_loaded_as_file(name: str) -> bool:
    """Tell whether a name alone makes something load a file: `libm.so.6`, `two.py`, `.bashrc`."""
    plain = _plain(name)
    _, dot, ending = plain.rpartition(".")
    return (
        (bool(dot) and ending in _ENDINGS)
        or plain in _SETTINGS
        or _TOOL_FILE.fullmatch(name) is not None
        or _LIBRARY.fullmatch(plain) is not None
        or (_is_loaded_as_folder(name) and name not in _HIDDEN_DATA)
    )


def _is_loaded_as_folder(name: str) -> bool:
    """Tell whether a folder is looked into because of its name: for settings, or for modules."""
    plain = _plain(name)
    return (
        name.startswith(".")
        or plain.startswith(".")
        or plain.endswith(_PACKAGES)
        or (plain in _SITES)
    )


def _begins_as_program(part: str) -> bool:
    """Tell whether the system would execute a file, had it the right to run."""
    if os.path.islink(part):
        return False
    with suppress(OSError), open(part, "rb") as file:
        return file.read(8).startswith(_MAGIC)
    return True  # nobody can tell


def _is_model(target: str, part: str) -> bool:
    """Tell whether a `*.pth` is a saved model; where Python looks for modules it never is."""
    if not _plain(target).endswith(".pth") or set(_plain(target).split("/")) & {*_SITES}:
        return False
    with open(part, "rb") as file:
        return file.read(4).startswith(_SAVED)


def _instructs(name: str, part: str) -> bool:
    """Tell whether an XML file has instructions."""
    return _plain(name).endswith(".xml") and not _is_other_xml(part)


def _is_other_xml(file: str) -> bool:
    """Tell whether a document begins with an element that nobody here reads: a report, a mesh.

    Whatever hides its root element from this reader is no such document.
    """
    from xml.parsers import expat

    roots = list[str]()
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, _: roots.append(tag)
    parser.StartDoctypeDeclHandler = lambda *_: roots.append("definition")
    with suppress(OSError, expat.ExpatError), open(file, "rb") as opened:
        parser.Parse(opened.read(_PROLOGUE), False)
    return bool(roots) and local_name(roots[0]) not in _ROOTS


def _is_package(folder: str) -> bool:
    with suppress(OSError):
        return any(name.casefold().startswith("__init__.") for name in os.listdir(folder))
    return False
