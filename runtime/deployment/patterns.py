"""What the source of results means: a path, a folder or a pattern, from the work folder on."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

Pick = Callable[[str], bool]


def picking(source: str) -> Pick | None:
    """Return what tells whether a path of the work folder is meant; None for no pattern at all.

    `*`, `?` and `[...]` do not reach over a `/`, `**` does; a folder means all that is in it.

    >>> meant = picking("out/*.npy")
    >>> meant("out/a.npy"), meant("a.npy"), picking("out")("out/a/b.npy")
    (True, False, True)
    """
    import pathspec  # only who names results waits for it

    path = posixpath.normpath(source).replace(" ", "\\ ")
    try:
        # Anchored at the top, where a name would otherwise mean that name in any folder.
        spec = pathspec.GitIgnoreSpec.from_lines([f"/{path}"])
    except ValueError:
        return None
    return spec.match_file if all(one.regex is not None for one in spec.patterns) else None
