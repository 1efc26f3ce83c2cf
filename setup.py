"""What a build makes of other files: the long description without relative links, manual pages.

Where the project is published is in the environment of the build, and goes from there into the
links: `GCM_HOME_PAGE=https://... python -m build`. A build without it has no address to link to,
and keeps the text of such links only.
"""

import os
import re
import sys
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
HOME_PAGE = os.environ.get("GCM_HOME_PAGE", "").rstrip("/")
RELATIVE_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:)([^)]+)\)")


def published(link: re.Match[str]) -> str:
    """Return a relative link of the README as it is shown elsewhere."""
    if HOME_PAGE:
        return f"{link[1]}[{link[2]}]({HOME_PAGE}/{link[3]})"
    return "" if link[1] else link[2]


def manual_folder() -> dict[str, list[str]]:
    """Write the manual pages; return them for `data_files`."""
    sys.path.insert(0, str(ROOT))  # a build is isolated from the folder that it builds
    sys.dont_write_bytecode = True
    from runtime.cli.reference import manual_pages

    folder = ROOT / "build" / "man"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in manual_pages().items():
        (folder / name).write_text(text, "utf-8")
    return {"share/man/man1": sorted(f"build/man/{path.name}" for path in folder.glob("*.1"))}


setup(
    long_description=RELATIVE_LINK.sub(published, (ROOT / "README.md").read_text("utf-8")),
    project_urls={"Documentation": f"{HOME_PAGE}/docs/index.md", "Source": HOME_PAGE}
    if HOME_PAGE
    else {},
    data_files=list(manual_folder().items()),
)
