"""Text that is safe to print on a terminal."""

from __future__ import annotations

import re

__all__ = ["printable"]

# Control characters, which terminals obey; the marks that reverse the direction of what follows;
# separators of lines; and halves of characters, which stand for undecodable bytes in file names.
_UNSAFE = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, encoding: str | None = None) -> str:
    r"""Return `text` in one line, with everything that could control a terminal escaped.

    Names of files, arrays and labels come from others, and may hold anything. With an `encoding`,
    characters that it lacks are escaped too.

    Examples
    --------
    >>> from tensift._utils.terminal import printable
    >>> print(printable("a\x1b[2Jb.npy"))
    a\x1b[2Jb.npy
    """
    text = _UNSAFE.sub(lambda found: repr(found[0])[1:-1], text)
    if encoding is not None:
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    return text
