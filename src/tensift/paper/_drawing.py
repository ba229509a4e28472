"""Which methods a figure shows, and how it draws them: the same in all figures."""

from __future__ import annotations

from typing import Any

from tensift.paper._study import Contender, Study

__all__ = ["cell_text", "method_style", "methods_of_the_paper"]

# Colours of Okabe and Ito, then of Tol. Markers differ too, so that readers need not see colours.
_OF_THE_PAPER: dict[str, tuple[str, str, Any]] = {
    "STPCA-MP": ("#d55e00", "o", "-"),
    "CPUFS": ("#0072b2", "s", "-"),
    "CPUFSnn": ("#56b4e9", "D", "--"),
    "MSPCA": ("#009e73", "^", "-"),
    "NLGMS": ("#cc79a7", "v", "-"),
    "SPCAFS": ("#e69f00", "P", "-"),
    "RNE": ("#222222", "X", "--"),
    "SOGFS": ("#882255", "<", "-."),
    "All Features": ("0.35", "", (0, (5, 3))),
}
_BEYOND: dict[str, tuple[str, str, Any]] = {
    "maximum variance": ("0.45", "d", ":"),
    "random selection": ("0.6", ".", ":"),
    "SPCA-PSD": ("#999933", "h", "--"),
    "NDFS": ("#332288", "p", "-."),
    "UDFS": ("#aa4499", ">", "-."),
    "MCFS": ("#117733", "*", "--"),
    "Laplacian Score": ("#88ccee", "8", ":"),
}
_OTHER = ("0.5", "x", ":")


def method_style(label: str) -> dict[str, Any]:
    """How `Axes.plot` draws a method; variants of one ("NLGMS, released") are dotted.

    STPCA-MP is bold and lies on top.
    """
    name, _, variant = label.partition(",")
    color, marker, linestyle = (_OF_THE_PAPER | _BEYOND).get(name, _OTHER)
    bold = label == "STPCA-MP"
    return {
        "color": color,
        "marker": marker,
        "linestyle": ":" if variant else linestyle,
        "linewidth": 2.6 if bold else 1.3,
        "markersize": 6.5 if bold else 4.5,
        "zorder": 5 if bold else 3,
    }


def methods_of_the_paper(study: Study, *also: str) -> list[Contender]:
    """The methods of the study that the paper compares, then the labels in `also`."""
    there = {one.label: one for one in study.contenders()}
    return [there[label] for label in (*_OF_THE_PAPER, *also) if label in there]


def cell_text(contender: Contender, settings: tuple[tuple[str, Any], ...]) -> str:
    """The cell of a method's grid that settings belong to, such as "eta=1, lam=0.1"."""
    return ", ".join(f"{name}={value:g}" for name, value in settings if name in contender.grid)
