"""Pure: why computing takes long: processors, GPUs, a step, the model itself."""

from collections.abc import Iterator

from controlplane.bottlenecks.facts import Facts
from controlplane.bottlenecks.finding import OFTEN, SECOND, Finding, duration, share


def cpu(facts: Facts) -> Iterator[Finding]:
    """Processors that replicas wait for: in use by themselves, or by others."""
    node = facts.fullest
    if node is None or not facts.contended:
        return
    # why the queue, too: whoever waits there waits for executions that take so much longer
    us = min(
        facts.waited_us * (1 + facts.queue_us / facts.infer_us), facts.queue_us + facts.infer_us
    )
    told = (
        f"its threads waited {duration(facts.waited_us)} a request for one of the "
        f"{node.processors} processors of {node.name}, of which {100 * node.cpu:.0f} % are in use"
    )
    if node.own_share >= OFTEN:
        yield Finding(
            "cpu_full",
            f"{facts.deployment} takes {node.own:.1f} of them: {told}.",
            us,
            node.name,
        )
        return
    by = ", ".join(f"{name} {cores:.1f}" for name, cores in node.others[:3])
    yield Finding(
        "noisy_neighbour",
        f"{facts.deployment} takes {node.own:.1f} of them{f', others more: {by}' if by else ''}; "
        f"{told}.",
        us,
        node.name,
    )


def gpu(facts: Facts) -> Iterator[Finding]:
    for model in facts.models:
        if not model.executes or not facts.gpu_is_full(model):
            continue
        node = max(facts.nodes, key=lambda one: one.gpu or 0.0)
        yield Finding(
            "gpu_full",
            f"A GPU of {node.name} is at work {100 * (node.gpu or 0):.0f} % of the time; requests "
            f"to {model.name} wait {duration(model.share * model.queue_us)} and compute for "
            f"{duration(model.share * model.infer_us)}.",
            model.share * (model.queue_us + SECOND * model.infer_us),
            model.name,
        )


def step(facts: Facts) -> Iterator[Finding]:
    steps = [one for one in facts.models if one.step and one.executes]
    whole = sum(one.share * one.compute_us for one in steps)
    if len(steps) < 2 or whole <= 0:
        return
    slowest = max(steps, key=lambda one: one.share * one.compute_us)
    us = slowest.share * slowest.compute_us
    if us >= OFTEN * whole:
        yield Finding(
            "ensemble_step",
            f"{slowest.name} computes for {duration(us)} of {duration(whole)} that the "
            f"{len(steps)} steps take together.",
            us,
            slowest.name,
        )


def model_itself(facts: Facts) -> Iterator[Finding]:
    for model in facts.models:
        us = model.share * model.infer_us
        if model.step or not model.executes:
            continue
        yield Finding(
            "model",
            f"{model.name} computes for {duration(us)}, {share(us, facts)} of a request; "
            f"batches have {model.batch or 1:.1f} rows.",
            SECOND * us if facts.contended else us,
            model.name,
        )
