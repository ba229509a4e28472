"""A plan as text and as a dict for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tensift._utils.units import format_bytes
from tensift.plan._units import format_amount, format_seconds

if TYPE_CHECKING:
    from tensift.plan._job import Job
    from tensift.plan._memory import Memory
    from tensift.plan._plan import Estimate, Plan

__all__ = ["as_dict", "report"]

_PARTS = ("process", "data", "work", "gram")


def report(plan: Plan) -> str:
    """Return the plan as text."""
    lines = [*_job_lines(plan), "", *_memory_lines(plan), "", *_stage_lines(plan)]
    if len(plan.orientations) > 1:
        lines += ["", *_orientation_lines(plan)]
    lines += ["", *_scaling_lines(plan), ""]
    lines += [f"{'change' if not k else '':<10}{text}" for k, text in enumerate(plan.advice)]
    lines += [f"{'assumed' if not k else '':<10}{text}" for k, text in enumerate(plan.notes)]
    return "\n".join(lines)


def _job_lines(plan: Plan) -> list[str]:
    job, layout = plan.chosen.job, plan.chosen.layout
    shape = " x ".join(map(str, job.shape))
    bases = " and ".join(dict.fromkeys(job.bases)) or "no other modes"
    what = "a fit" if job.cells is None else f"a path of {job.cells} cells"
    kept = "" if job.kept == job.p else f", of which {format_amount(job.kept)} are solved"
    where = "this process" if not layout.is_cluster else f"{layout.workers} workers"
    where += f", {layout.cores} core{'s' if layout.cores > 1 else ''} each"
    if layout.memory is not None:
        where += f", {format_bytes(layout.memory)} of memory"
    chunks = layout.chunks_of(job)
    low, high = plan.seconds_range
    result = f"{format_seconds(plan.seconds)}, longest: {plan.bottleneck}"
    if high > 1.05 * low:
        result += f" ({format_seconds(low)} to {format_seconds(high)} if it grows slowly or fast)"
    if plan.chosen.passes > 1:
        result += f"; slices in {plan.chosen.passes} blocks"
    if not plan.chosen.fits:
        result += "; it does not fit into memory"
    return [
        f"job       {what} of {format_amount(job.samples)} samples of {shape}, {job.dtype}: "
        f"{format_bytes(job.stored_bytes)}",
        f"method    orientation {job.title}: {format_amount(job.p)} slices of "
        f"{format_amount(job.q)} features{kept}; {bases}; {job.solver}{_settings(job)}",
        f"where     {where}; {format_amount(chunks)} chunks of "
        f"{format_amount(layout.chunk_of(job))} samples",
        f"time      {result}",
        "accuracy  slices have fewer samples than features: their Gram matrices are rough"
        if job.thin
        else f"accuracy  Gram matrices to about {100 * plan.sampling_error:.2g} % of their largest "
        "eigenvalue, by the number of samples",
    ]


def _settings(job: Job) -> str:
    if job.cells is not None:
        return ""
    penalties = "automatic penalties" if job.chooses_penalties else "given penalties"
    return f", {penalties}; selection {job.selection}, {job.n_features_to_select}"


def _memory_lines(plan: Plan) -> list[str]:
    chosen = plan.chosen
    who = "per worker" if chosen.client is not None else "in all"
    lines = [f"memory    {'':<12}{'libraries':>10}{'data':>10}{'work':>10}{'Gram':>10}{'sum':>10}"]
    lines.append(f"          {who:<12}{_memory_row(chosen.memory)}, in {chosen.memory.at}")
    if chosen.client is not None:
        lines.append(f"          {'the client':<12}{_memory_row(chosen.client)}")
    what = "thin factors of the Gram tensor" if chosen.job.thin else "one Gram tensor"
    lines.append(f"          {what}: {format_bytes(chosen.job.gram_bytes)}")
    return lines


def _memory_row(memory: Memory) -> str:
    parts = [getattr(memory, part) for part in _PARTS] + [memory.total]
    return "".join(f"{format_bytes(part):>10}" for part in parts)


def _stage_lines(plan: Plan) -> list[str]:
    lines = [f"stage     {'time':>10}  {'share':>5}  {'all cores':>10}  what"]
    for stage in plan.chosen.stages:
        share = stage.seconds / plan.seconds if plan.seconds else 0.0
        lines.append(
            f"{stage.name:<10}{format_seconds(stage.seconds):>10}  {share:>5.0%}  "
            f"{format_seconds(stage.core_seconds):>10}  {stage.work}"
        )
    if plan.chosen.overlap:
        lines.append(f"{'overlap':<10}{'-' + format_seconds(plan.chosen.overlap):>10}")
    lines.append(
        f"{'sum':<10}{format_seconds(plan.seconds):>10}  {'':>5}  "
        f"{format_seconds(plan.chosen.core_seconds):>10}"
    )
    return lines


def _orientation_lines(plan: Plan) -> list[str]:
    width = max(10, *(len(each.job.title) for each in plan.orientations))
    title = f"{'orientation':<{width + 1}}"
    lines = [f"{title}  q features  p slices  Gram tensor    memory  blocks      time  longest"]
    for each in plan.orientations:
        here = "*" if each.job.orientation == plan.chosen.job.orientation else " "
        passes = str(each.passes)
        lines.append(
            f"{each.job.title:<{width}}{here}  {format_amount(each.job.q):>10}  "
            f"{format_amount(each.job.p):>8}  {format_bytes(each.job.gram_bytes):>11}  "
            f"{format_bytes(each.memory.total):>8}  {passes:>6}  "
            f"{format_seconds(each.seconds):>8}  {each.bottleneck.name}"
        )
    return lines


def _scaling_lines(plan: Plan) -> list[str]:
    lines = ["workers         time   faster  longest"]
    alone = plan.scaling[0].seconds
    for each in plan.scaling:
        here = "*" if each.layout.workers == plan.chosen.layout.workers else " "
        lines.append(
            f"{each.layout.workers:<9}{here} {format_seconds(each.seconds):>9}  "
            f"{alone / each.seconds:>6.3g}x  {each.bottleneck.name}"
        )
    return lines


def as_dict(plan: Plan) -> dict[str, Any]:
    """Return the plan as a dict of plain values, for JSON."""
    job, layout = plan.chosen.job, plan.chosen.layout
    return {
        "job": {
            "shape": list(job.shape),
            "dims": None if job.names is None else list(map(str, job.names.dims)),
            "samples": job.samples,
            "orientation": job.orientation,
            "basis": list(job.bases),
            "solver": job.solver,
            "dtype": str(job.dtype),
            "grid": job.cells,
            "lam": job.lam,
            "eta": job.eta,
            "selection": job.selection,
            "n_features_to_select": job.n_features_to_select,
            "q": job.q,
            "p": job.p,
            "slices_solved": job.kept,
            "stored_bytes": job.stored_bytes,
            "gram_bytes": job.gram_bytes,
            "product_flops": job.product_flops,
        },
        "layout": {
            **asdict(layout),
            "chunk": layout.chunk_of(job),
            "chunks": layout.chunks_of(job),
        },
        **_estimate_dict(plan.chosen),
        "seconds_range": list(plan.seconds_range),
        "sampling_error": plan.sampling_error,
        "orientations": [
            {"orientation": each.job.orientation, "q": each.job.q, "p": each.job.p,
             **_estimate_dict(each)}
            for each in plan.orientations
        ],
        "scaling": [
            {"workers": each.layout.workers, **_estimate_dict(each)} for each in plan.scaling
        ],
        "pilot": asdict(plan.pilot),
        "advice": plan.advice,
        "notes": plan.notes,
    }  # fmt: skip


def _estimate_dict(each: Estimate) -> dict[str, Any]:
    return {
        "seconds": each.seconds,
        "core_seconds": each.core_seconds,
        "bottleneck": each.bottleneck.name,
        "passes": each.passes,
        "fits": each.fits,
        "stages": {stage.name: stage.seconds for stage in each.stages},
        "overlap": each.overlap,
        "memory": {**asdict(each.memory), "total": each.memory.total},
        "client_memory": None
        if each.client is None
        else {**asdict(each.client), "total": each.client.total},
    }
