"""The page on which a run or a lab is seen: HTML, CSS and JavaScript, nothing from elsewhere.

Its modules stand beside this file. They are joined in order, so that the page is one file whether
it is served or saved; a policy in it allows just this script and this style.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template

from gcm.records import dataclass

_MODULES = ("dom", "machine", "waits", "traffic", "timeline", "output", "lab", "main")
"""Each imports only from those before it; no two have a name in common."""


@dataclass(frozen=True, slots=True)
class _Parts:
    template: Template
    style: str
    script: str
    policy: str


def page_of(
    document: Mapping[str, object],
    output: Sequence[Mapping[str, object]] = (),
) -> str:
    """Return the whole page, as a file that shows what is known now.

    `document` is that of a run or of a lab, `output` are the lines of a run. What others wrote
    cannot leave the data of the page.
    """
    title = str(document["title"])
    return _page({"document": document, "output": output}, title)


def excerpt_of(
    headline: str, picture: str, rows: Sequence[Sequence[str]], texts: Sequence[str]
) -> str:
    """Return what a notebook shows of a run: a picture, a table with its heading, and texts.

    The picture is an image of its own, so that its style does not reach the notebook; there may be
    none.
    """
    encoded = base64.b64encode(picture.encode()).decode()
    tags = ("th", *("td" for _ in rows[1:]))
    lines = (
        "".join(f"<{tag}>{html.escape(one)}</{tag}>" for one in row)
        for tag, row in zip(tags, rows, strict=True)
    )
    return (
        f"<p><b>{html.escape(headline)}</b></p>"
        + (f'<img alt="the machine" src="data:image/svg+xml;base64,{encoded}"/>' if picture else "")
        + f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
        + "".join(f"<pre>{html.escape(one)}</pre>" for one in texts if one)
    )


def living_page(title: str) -> str:
    """Return the page that asks the server it came from for all that it shows."""
    return _page({"document": {"title": title}, "is_live": True}, title)


def policy() -> str:
    """Return the Content-Security-Policy of the page."""
    return _parts().policy


def _page(data: Mapping[str, object], title: str) -> str:
    parts = _parts()
    document = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    safe = title.replace("&", "&amp;").replace("<", "&lt;")
    return parts.template.substitute(
        title=safe, style=parts.style, script=parts.script, document=document, policy=parts.policy
    )


@cache
def _parts() -> _Parts:
    here = files(__name__)
    modules = (here.joinpath(f"{one}.js").read_text() for one in _MODULES)
    script = "\n".join(re.sub(r"^import .*\n|^export ", "", one, flags=re.M) for one in modules)
    style = here.joinpath("page.css").read_text()
    allowed = (
        "default-src 'none'",
        f"script-src '{_hash(script)}'",
        f"style-src '{_hash(style)}'",
        "connect-src 'self'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    template = Template(here.joinpath("page.html").read_text())
    return _Parts(template, style, script, "; ".join(allowed))


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
