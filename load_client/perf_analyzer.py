"""Pure: the command by which Triton's perf_analyzer measures nearly the same."""

import shlex
from collections.abc import Sequence
from itertools import pairwise

from wire.load import CONCURRENCY, LoadPlan


def command(plan: LoadPlan, address: str, input_data: str = "") -> str:
    """``input_data``: a file with the inputs, in its own format; empty: random ones.

    It walks through a range by equal steps, so that it may measure more levels than the plan has.
    """
    words = ["perf_analyzer", "-m", plan.model, "-i", "http", "-u", address]
    if plan.version:
        words += ["-x", plan.version]
    if input_data:
        words += ["--input-data", input_data]
    elif plan.batch > 1:
        words += ["-b", str(plan.batch)]
    for name, shape in plan.shapes.items():
        words += ["--shape", f"{name}:{','.join(map(str, shape))}"]
    option = "--concurrency-range" if plan.mode == CONCURRENCY else "--request-rate-range"
    words += [option, _range(plan.levels)]
    words += ["--measurement-interval", f"{plan.seconds * 1000:.0f}"]
    if plan.slo_percentile:
        words += ["--percentile", str(plan.slo_percentile), "-l", f"{plan.slo_us / 1000:g}"]
    return shlex.join(words)


def _range(levels: Sequence[float]) -> str:
    if len(levels) == 1:
        return f"{levels[0]:g}"
    steps = [later - earlier for earlier, later in pairwise(levels)]
    return f"{levels[0]:g}:{levels[-1]:g}:{min(steps):g}"
