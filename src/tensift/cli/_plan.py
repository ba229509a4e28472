"""``tensift plan``: estimate the memory, time and bottleneck of a job before it is run."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensift import STPCASelector
from tensift.cli._arguments import (
    axes,
    count_or_share,
    mode,
    names,
    non_negative,
    or_auto,
    positive_int,
)
from tensift.cli._commands import COMMANDS
from tensift.cli._console import Console, show
from tensift.cli._figures import FORMATS, write_figure
from tensift.cli._input import add_table_arguments, table_arguments
from tensift.cli._options import add_option
from tensift.cli._output import OutputFolder
from tensift.datasets import available_memory, files_of_input
from tensift.plan import (
    Plan,
    as_bytes,
    as_count,
    as_rate,
    as_shape,
    numbers_of_file,
    plan_job,
    samples_of_file,
)
from tensift.plotting import PlanDisplay, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["add_parser", "run"]

_FILES = ("plan.txt", "plan.json", *(f"plan.{suffix}" for suffix in FORMATS))

# Options that `plan_job` takes as they are.
_SAME = (
    "orientation", "basis", "solver", "grid", "n_features_to_select", "selection", "lam", "eta",
    "workers", "cores", "chunk", "in_memory", "working_memory", "seconds",
)  # fmt: skip

_DESCRIPTION = """\
Estimate a job before you run it: its memory, the time of each stage, the bottleneck, and what
to change. A pilot fits a few slices of a few samples of your file, or of random samples of the
given shape, in some seconds. Times grow from there with the numbers of samples and slices.
"""

_EPILOG = """\
examples:
  tensift plan --shape 64,64 --samples 1e6
  tensift plan --file images.npy --basis dft --orientation 1
  tensift plan --file images.npy --samples 1e9        the same data with more samples
  tensift plan --shape 64,64 --samples 1e6 --grid 25     a path of 25 pairs of penalties
  tensift plan --shape 256,256 --samples 1e9 --workers 100 --cores 16 \\
      --memory-per-worker 64GB --read-bandwidth 1GB/s --figure plan.png
  tensift plan --file table.csv --seconds 60          measure for a minute
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "plan",
        help=COMMANDS["plan"],
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    _add_job_arguments(parser.add_argument_group("job"))
    _add_place_arguments(parser.add_argument_group("where it runs"))
    _add_output_arguments(parser.add_argument_group("output"))


def _add_job_arguments(group: Any) -> None:
    group.add_argument(
        "--shape", type=_checked(as_shape), metavar="D1,D2,...", help="the shape of one sample"
    )
    group.add_argument(
        "--samples",
        type=_checked(as_count, least=2),
        metavar="N",
        help="the number of samples: 50000 or 1e6",
    )
    group.add_argument(
        "--file", type=Path, metavar="FILE",
        help="take the shape, type and number of samples from this file, and samples for the pilot",
    )  # fmt: skip
    group.add_argument("--variable", metavar="NAME", help="which array of the file to use")
    group.add_argument(
        "--sample-axis", type=axes, metavar="AXIS[,AXIS]", help="the axis of the file's samples"
    )
    add_table_arguments(group)
    group.add_argument(
        "--orientation", type=mode, metavar="MODE", default=0,
        help="the mode along which features predict each other, by number or by name; the plan "
        "compares all modes (default: 0)",
    )  # fmt: skip
    group.add_argument(
        "--basis", type=names, metavar="NAME", default=["identity"],
        help="identity, dft, dct, haar, eigen, random or matrix; separated by commas, one for each "
        "other mode (default: identity)",
    )  # fmt: skip
    add_option(group, STPCASelector, "solver")
    group.add_argument("--dtype", help="the type of the stored samples (default: float32)")
    group.add_argument(
        "--grid", type=positive_int, metavar="CELLS",
        help="plan a path of so many pairs of penalties, 25 for the default grid (default: a fit)",
    )  # fmt: skip
    add_option(
        group, STPCASelector, "n_features_to_select", "-k", type=or_auto(count_or_share),
        metavar="K|auto",
    )  # fmt: skip
    add_option(group, STPCASelector, "selection")
    for name in ("lam", "eta"):
        add_option(
            group, STPCASelector, name, type=or_auto(non_negative), metavar=f"{name.upper()}|auto"
        )


def _add_place_arguments(group: Any) -> None:
    group.add_argument(
        "--workers", type=positive_int, default=1, metavar="N",
        help="the number of workers of a Dask cluster (default: 1, this process)",
    )  # fmt: skip
    group.add_argument(
        "--cores",
        type=positive_int,
        default=1,
        metavar="N",
        help="the cores of each worker (default: 1)",
    )
    group.add_argument(
        "--memory-per-worker", type=_checked(as_bytes), metavar="SIZE",
        help="such as 4GB (default: the free memory of this machine; no limit for a cluster)",
    )  # fmt: skip
    group.add_argument(
        "--working-memory", type=_checked(as_bytes), metavar="SIZE",
        help="scikit-learn's setting; it sets the size of chunks and the number of passes over the "
        "data (default: 1GiB)",
    )  # fmt: skip
    group.add_argument(
        "--read-bandwidth", type=_checked(as_rate), metavar="MB/s",
        help="how fast each worker reads: 500 or 2GB/s (default: as measured on the disk of "
        "temporary files)",
    )  # fmt: skip
    group.add_argument(
        "--network", type=_checked(as_rate), metavar="MB/s", default=1.25e9,
        help="the bandwidth between workers (default: 1250, which is ten gigabits per second)",
    )  # fmt: skip
    group.add_argument("--chunk", type=_checked(as_count), metavar="N", help="samples per chunk")
    group.add_argument(
        "--in-memory",
        action="store_true",
        help="the samples are in memory: nothing is read",
    )
    group.add_argument(
        "--seconds", type=float, metavar="S", default=4.0,
        help="about how long the pilot measures; longer is more accurate (default: 4)",
    )  # fmt: skip


def _add_output_arguments(group: Any) -> None:
    group.add_argument("--json", action="store_true", help="print everything as JSON")
    group.add_argument(
        "--figure", type=Path, metavar="FILE", help="draw the stages: .png, .svg or .pdf"
    )
    group.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER",
        help="write plan.txt, plan.json and plan.png there",
    )  # fmt: skip
    group.add_argument("--overwrite", action="store_true", help="replace earlier files")
    group.add_argument("--quiet", action="store_true", help="show no warnings")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run the command."""
    if arguments.output is not None or arguments.figure is not None:
        require_matplotlib()
    if arguments.figure is not None and _suffix(arguments.figure) not in FORMATS:
        raise ValueError(f"--figure {arguments.figure}: the name must end in .png, .svg or .pdf")
    outputs = _outputs(arguments)
    for folder, _ in outputs:
        folder.check()
    plan = plan_job(
        **_data(arguments),
        memory=_memory(arguments),
        read_bandwidth=_rate(arguments.read_bandwidth),
        network=_rate(arguments.network),
        **{name: getattr(arguments, name) for name in _SAME},
    )
    _write(outputs, plan)
    text = json.dumps(plan.to_dict(), indent=2) if arguments.json else str(plan)
    for line in text.splitlines():
        show(line)


def _checked(parse: Callable[..., Any], **options: Any) -> Callable[[str], Any]:
    """Make a type for argparse, whose errors name the option."""

    def checked(text: str) -> Any:
        try:
            return parse(text, "the value", **options)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def _rate(bandwidth: float | None) -> Any:
    """The bandwidth with its unit, as `plan_job` expects it."""
    return None if bandwidth is None else f"{bandwidth:.0f}B/s"


def _data(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the numbers of the job, and samples if there is a file."""
    found: dict[str, Any] = {}
    if arguments.file is not None:
        options = {"variable": arguments.variable, "sample_axis": arguments.sample_axis}
        options |= table_arguments(arguments)
        found = numbers_of_file(arguments.file, **options)
        data = samples_of_file(arguments.file, **options)
        found |= {"loaded": True} if data is None else {"data": data}
    for name in ("shape", "samples", "dtype"):
        if getattr(arguments, name) is not None:
            found[name] = getattr(arguments, name)
    missing = [f"--{name}" for name in ("shape", "samples") if name not in found]
    if missing:
        raise ValueError(f"give {' and '.join(missing)}, or --file with a data file")
    return found


def _memory(arguments: argparse.Namespace) -> int | None:
    if arguments.memory_per_worker is not None or arguments.workers > 1:
        memory: int | None = arguments.memory_per_worker
        return memory
    return available_memory()


def _suffix(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")


def _outputs(arguments: argparse.Namespace) -> list[tuple[OutputFolder, str]]:
    """The folders to write to, each with the name of its figure."""
    places: list[tuple[Path, tuple[str, ...], str]] = []
    if arguments.figure is not None:
        name = arguments.figure.name
        places.append((arguments.figure.parent, (name,), name))
    if arguments.output is not None:
        places.append((arguments.output, _FILES, "plan.png"))
    inputs = [] if arguments.file is None else files_of_input(arguments.file)
    return [
        (OutputFolder(folder, names, overwrite=arguments.overwrite, inputs=inputs), figure)
        for folder, names, figure in places
    ]


def _write(outputs: list[tuple[OutputFolder, str]], plan: Plan) -> None:
    texts = {"plan.txt": f"{plan}\n", "plan.json": json.dumps(plan.to_dict(), indent=2) + "\n"}
    for folder, figure in outputs:
        stem, suffix = os.path.splitext(figure)
        with folder as output:
            for name in texts:
                if name in output.names:
                    output.write_text(name, texts[name])
            write_figure(output, stem, [suffix.removeprefix(".")], partial(_draw, plan))


def _draw(plan: Plan, figure: Figure) -> None:
    figure.set_layout_engine("constrained")
    figure.set_size_inches(7.5, 1.8 + 0.3 * (len(plan.orientations) + len(plan.scaling)))
    PlanDisplay.from_plan(plan, ax=figure.subplots())
