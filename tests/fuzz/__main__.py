"""Run a campaign from the command line."""

import os

# One thread for BLAS, so that a campaign uses one core. Set before NumPy is loaded.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import argparse  # noqa: E402
import sys  # noqa: E402

from .campaign import AREAS, LIMIT_SECONDS, limit_memory, repeat, run_campaign  # noqa: E402


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0, help="how long to run")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other cases")
    parser.add_argument("--area", choices=AREAS, action="append", help="only this area")
    parser.add_argument("--case", type=int, help="repeat this case of --area, and show its error")
    parser.add_argument(
        "--limit", type=float, default=LIMIT_SECONDS, help="seconds that a case may take"
    )
    arguments = parser.parse_args()
    areas = arguments.area or list(AREAS)
    limit_memory()
    if arguments.case is not None:
        if len(areas) != 1:
            parser.error("--case needs one --area")
        return repeat(areas[0], arguments.seed, arguments.case, arguments.limit)
    return run_campaign(areas, arguments.seed, arguments.seconds, arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
