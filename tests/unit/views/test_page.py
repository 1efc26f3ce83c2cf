"""The page as a file: whole, and closed against what others wrote."""

from __future__ import annotations

import base64
import hashlib
import json
import re

from runtime.views.page import living_page, page_of
from runtime.views.run_view import RunView


def embedded(page: str) -> str:
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', page)
    assert found is not None
    return found[1]


def test_what_others_wrote_cannot_leave_the_data_of_the_page() -> None:
    evil = "</script><script>alert(1)</script><!--"
    page = page_of(RunView().document() | {"title": evil}, [{"number": 1, "text": evil}])
    assert "<script>alert" not in page
    assert json.loads(embedded(page))["output"][0]["text"] == evil


def test_the_policy_allows_the_script_and_the_style_of_the_page_alone() -> None:
    page = living_page("a run")
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for text, kind in ((script, "script-src"), (style, "style-src")):
        made = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{made}';" in page
    assert "default-src 'none'" in page
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)
    assert not re.search(r"(src|href)=.?(https?:)?//", page)
