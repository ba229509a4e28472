"""Run benchmarks: ``python -m benchmarks [name ...]`` from the root of the repository.

``python -m benchmarks compare REV1 REV2`` compares the speed of two revisions.
"""

import argparse
import importlib
import sys
import time
import warnings

from sklearn.exceptions import ConvergenceWarning

from benchmarks._environment import describe_environment
from benchmarks._results import write_results

BENCHMARKS = {
    "fit": "our fit against a plain transcription of the authors' algorithm",
    "rivals": "our fit against sparse PCA and the Laplacian score",
    "geometry": "selection by geometry against the Laplacian score",
    "penalties": "automatic penalties against one solve",
    "sensors": "reconstruction from few sensors against PySensors (minutes; only when named)",
    "missing": "selections from samples with gaps, beside imputation (only when named)",
    "memory": "peak memory against the number of samples",
    "growth": "time against samples, features per slice and slices",
    "workers": "one worker against two, and how many threads they use",
    "stream": "a file of 20 GB, one chunk at a time: throughput, memory (minutes; only when named)",
    "synthetic": "how often the known features of synthetic data come first",
    "decomposition": "TensorPCA against similar programs (minutes; only when named)",
    "sparse_pca": "SparseTensorPCA against a program for the same criterion (only when named)",
    "quality": "which solver selects better features (minutes; only when named)",
    "label_free": "how good selections without labels are (minutes; only when named)",
    "large_fit": "default fits of large samples: time, memory, floor (minutes; only when named)",
    "path": "the cost of certified fits and paths (minutes; only when named)",
    "exact": "the certified optimum against the authors' iteration (half an hour; only when named)",
    "graph_selectors": "UDFS and NDFS against another program (minutes; only when named)",
    "rival_speed": "four rivals against plain transcriptions of them (minutes; only when named)",
    "plan_check": "what tensift plan predicts against what jobs need (minutes; only when named)",
    "device": "solvers on an accelerator against the host's cores (minutes; only when named)",
    "device_fit": "default fits on an accelerator against the host's cores (only when named)",
    "asch": "correct channels of ASCH over the paper's grid (minutes; only when named)",
    "versus": "the same selections by other packages, side by side (only when named)",
    "dask_scaling": "one Dask worker against two (minutes, on an idle machine; only when named)",
    "walks": "four walks from a file to a selection, each in a new environment (only when named)",
}
ONLY_WHEN_NAMED = {
    "asch",
    "dask_scaling",
    "decomposition",
    "device",
    "device_fit",
    "exact",
    "graph_selectors",
    "label_free",
    "large_fit",
    "missing",
    "path",
    "plan_check",
    "quality",
    "rival_speed",
    "sensors",
    "sparse_pca",
    "stream",
    "versus",
    "walks",
}


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["compare"]:
        return importlib.import_module("benchmarks.compare").main(arguments[1:])
    listing = "\n".join(f"  {name:13} {what}" for name, what in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Benchmarks:\n{listing}\n\nTo compare the speed of two revisions: "
        "python -m benchmarks compare REV1 REV2",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="name", help="all but the slow ones by default")
    parser.add_argument("--repeats", type=int, default=7, help="rounds per timing (7)")
    parser.add_argument(
        "--output", default="benchmarks/results", help="folder of the tables (benchmarks/results)"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark called {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    if options.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {options.repeats}")
    names = options.names or [name for name in BENCHMARKS if name not in ONLY_WHEN_NAMED]
    environment = describe_environment()
    for key, value in environment.items():
        print(f"{key}: {value}")
    # Some slices reach the limit of 100 steps that the paper's iteration is published with.
    warnings.simplefilter("ignore", ConvergenceWarning)
    failures = []
    for name in names:
        start = time.perf_counter()
        tables = importlib.import_module(f"benchmarks.{name}").run(options.repeats)
        write_results(options.output, name, tables, environment)
        for table in tables.values():
            if not table.csv_only:
                print("\n" + table.markdown(), flush=True)
            failures += [f"{name}: {failure}" for failure in table.failures]
        print(f"({name} took {time.perf_counter() - start:.0f} s)", flush=True)
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
