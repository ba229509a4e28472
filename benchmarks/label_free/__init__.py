"""How good selections without labels are, judged by the labels.

Every fit and judgement is saved in `build/label_free` or in the folder `LABEL_FREE_CACHE`, under a
key of everything that it depends on. So a stopped run continues. After a change of the library,
only the fits of changed methods and the judgements of changed selections are computed again.
`LABEL_FREE_SETS` (names separated by commas) restricts a run to some sets. `LABEL_FREE_SLOW=1`
adds the slow rivals of the paper.
"""

from benchmarks.label_free._study import run

__all__ = ["run"]
