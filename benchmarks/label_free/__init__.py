"""What selections that see no labels are worth, judged by the labels.

Fits and judgements are kept as they come, in `build/label_free` or the folder that
`LABEL_FREE_CACHE` names, under keys of all that they depend on: a stopped run goes on, and after a
change of the library only the fits of the changed methods, and judgements of selections that have
become others, are made again. `LABEL_FREE_SETS` (names with commas) restricts a run to some sets.
"""

from benchmarks.label_free._study import run

__all__ = ["run"]
