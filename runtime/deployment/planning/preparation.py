"""What a host needs before anything can start there: modules, a line of shell, a container."""

from __future__ import annotations

import shlex

from runtime.deployment.model import FrontEnd

NOT_PREPARED = 87
"""The exit code where modules could not be loaded, or the line of shell has failed."""

NO_MODULES = "gcm-modules: "
"""What a line on standard error begins with that has the modules that could not be loaded."""

PREPARED_PATH = "GCM_PREPARED_PATH"
"""The environment variable with what modules and line have put in front of the search path."""

# What the profile prints is skipped like all that a login shell says. Standard input is ours.
_PREPARE = (
    f'gcm_path=$PATH; eval "$1" </dev/null >&2 || exit {NOT_PREPARED}; shift;'
    f' test "$PATH" = "$gcm_path" || export {PREPARED_PATH}="${{PATH%":$gcm_path"}}"; exec "$@"'
)


def preparation(host: FrontEnd, active: str = "") -> tuple[str, ...]:
    """Return the words that go before a command on a host, none where nothing is needed.

    They run in a login shell, whose profile defines the `module` command of a site, and become the
    command in the end, so that a front-end, its `mpiexec` and all ranks on this host inherit what
    was set. The modules and the line come before the container, whose program they may bring.
    `active` is the search path of the user's own shell where that is on the same site: what is
    active there, such as a virtual environment, comes before what the profile has, behind modules.

    >>> preparation(FrontEnd("h", modules=("a/5",), before="ulimit -l unlimited"))[3:]
    ('gcm', 'module load a/5 || { echo gcm-modules: a/5 >&2; exit 87; }; ulimit -l unlimited')
    >>> preparation(FrontEnd("h", container="mpi.sif"))
    ('apptainer', 'exec', 'mpi.sif')
    """
    names = shlex.join(host.modules)
    load = f"module load {names} || {{ echo {NO_MODULES}{names} >&2; exit {NOT_PREPARED}; }}"
    path = f"export PATH={shlex.quote(active)}:$PATH; gcm_path=$PATH" if active else ""
    line = "; ".join(filter(None, (path, load if names else "", host.before)))
    shell = ("/bin/sh", "-lc", _PREPARE, "gcm", line) if line else ()
    image = (host.container_program, "exec", host.container) if host.container else ()
    return (*shell, *image)
