"""Formulae as MathML, which browsers draw and screen readers read: no script, no network."""

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

_LOGGER = logging.getLogger(__name__)


def _mathml(node: nodes.Element, as_block: bool) -> str:
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        _LOGGER.warning("%s in %r", error, node.astext(), location=node)
        return f"<code>{escape(node.astext())}</code>"


def _visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(_mathml(node, as_block=True))
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name of this module."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
