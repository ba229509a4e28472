"""Fill the tables of the page in the documentation with those of the results."""

import re
from pathlib import Path

from benchmarks._results import write_beside

MARKED = re.compile(r"(<!-- label_free:(\w+) -->\n).*?(<!-- end of label_free:\2 -->)", re.DOTALL)

ALTERNATIVE = "Gain of every contestant over random features, set by set"


def fill_page(path, tables, picture):
    """Replace the text between the markers of a page by the tables they name.

    `<!-- label_free:gains -->` takes the table of `label_free_gains.csv`,
    `<!-- label_free:main -->` that of `label_free.csv`, `<!-- label_free:picture -->` the picture.
    """
    shown = f"![{ALTERNATIVE}]({picture.relative_to(path.parent).as_posix()})\n"
    text = Path(path).read_text(encoding="utf-8")
    filled = fill(text, tables, shown)
    write_beside(Path(path), lambda file: Path(file).write_text(filled, encoding="utf-8"))


def fill(text, tables, picture=""):
    def text_of(match):
        opening, name, closing = match.groups()
        if name == "picture":
            return f"{opening}\n{picture}\n{closing}"
        suffix = "" if name == "main" else f"_{name}"
        if suffix not in tables:
            raise KeyError(f"the page has a marker for {name!r}, but the study has no such table")
        body = tables[suffix].markdown().partition("\n\n")[2]  # without its title
        return f"{opening}\n{body}\n{closing}"

    return MARKED.sub(text_of, text)
