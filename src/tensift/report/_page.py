"""Build one HTML file from the template, the style, the scripts and the content."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib.resources import files

from tensift.report._build import Content

__all__ = ["assemble_page", "embedded_json"]

# In the order in which they run.
_SCRIPTS = (
    "data.js", "paint.js", "pictures.js", "curve.js", "tables.js", "missed.js", "sections.js",
    "main.js",
)  # fmt: skip
_IN_JSON = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def assemble_page(content: Content) -> str:
    """Return the page. It loads nothing from outside and runs no script but its own."""
    style = _read("report.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_read, _SCRIPTS)) + "})();\n"
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": html.escape(content["title"].encode(errors="replace").decode()),
        "style": style,
        "content": embedded_json(content),
        "script": script,
    }
    # Split the template once, so that markers in the content are never replaced.
    pieces = _read("report.html").split("@@")
    return "".join(parts[p] if i % 2 else p for i, p in enumerate(pieces))


def embedded_json(content: object) -> str:
    """Return JSON that cannot end the element around it, whatever names it contains."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, escaped in _IN_JSON.items():
        text = text.replace(character, escaped)
    return text


@cache
def _read(name: str) -> str:
    return (files("tensift.report") / "page" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return the hash by which the page's security policy allows an inline element."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
