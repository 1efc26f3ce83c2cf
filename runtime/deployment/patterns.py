"""The source of results as a path, a folder or a pattern relative to the work folder."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

Pick = Callable[[str], bool]


def picking(source: str) -> Pick | None:
    """Return a predicate on paths of the work folder; None for an invalid pattern.

    `*`, `?` and `[...]` do not match a `/`, `**` does; a folder means everything in it.

    >>> meant = picking("out/*.npy")
    >>> meant("out/a.npy"), meant("a.npy"), picking("out")("out/a/b.npy")
    (True, False, True)
    """
    import pathspec  # slow to import, and needed only where results are named

    path = posixpath.normpath(source).replace(" ", "\\ ")
    try:
        # Anchored at the top, where a bare name would mean that name in any folder.
        spec = pathspec.GitIgnoreSpec.from_lines([f"/{path}"])
    except ValueError:
        return None
    return spec.match_file if all(one.regex is not None for one in spec.patterns) else None
