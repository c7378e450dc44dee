"""Pure: why requests wait in the queue of a model."""

from collections.abc import Iterator

from controlplane.bottlenecks.facts import BUSY, Facts, ModelFacts
from controlplane.bottlenecks.finding import SECOND, Finding, duration


def delay(facts: Facts) -> Iterator[Finding]:
    for model, us in queued(facts):
        told = model.settings
        if told is None or not told.batches or busy(model) or told.delay_us <= 0:
            continue
        if model.queue_us >= 0.3 * told.delay_us:
            yield Finding(
                "batch_delay",
                f"{model.name} lets requests wait up to {duration(told.delay_us)} for others, and "
                f"they waited {duration(us)}; batches have {model.batch or 1:.1f} rows, and its "
                f"instances are at work {100 * (model.busy or 0):.0f} % of the time.",
                min(us, model.share * told.delay_us),
                model.name,
            )


def batching(facts: Facts) -> Iterator[Finding]:
    for model, us in queued(facts):
        told = model.settings
        if not could_batch(model) or told is None or not busy(model):
            continue
        yield Finding(
            "no_batching",
            f"{model.name} takes batches of {told.max_batch_size}, and has no dynamic_batching: "
            f"requests wait {duration(us)} while its instances are at work "
            f"{100 * (model.busy or 0):.0f} % of the time.",
            SECOND * us if facts.contended else us,
            model.name,
        )


def sequences(facts: Facts) -> Iterator[Finding]:
    for model, us in queued(facts):
        if model.settings is not None and model.settings.sequences:
            yield Finding(
                "sequence_slots",
                f"Requests of {model.name} wait {duration(us)}: each sequence keeps a slot until "
                "it ends.",
                us,
                model.name,
            )


def instances(facts: Facts) -> Iterator[Finding]:
    for model, us in queued(facts):
        if not busy(model) or (model.settings is not None and model.settings.sequences):
            continue
        if facts.contended or facts.gpu_is_full(model):
            continue
        yield Finding(
            "few_instances",
            f"The instances of {model.name} ({model.instances:.0f}) are at work "
            f"{100 * (model.busy or 0):.0f} % of the time and requests wait {duration(us)}; for a "
            f"processor its threads wait {duration(facts.waited_us)}.",
            SECOND * us if could_batch(model) else us,
            model.name,
        )


def queued(facts: Facts) -> Iterator[tuple[ModelFacts, float]]:
    """Models that execute, with what their queue takes of a mean request."""
    for model in facts.models:
        if model.executes and model.queue_us > 0:
            yield model, model.share * model.queue_us


def busy(model: ModelFacts) -> bool:
    return model.busy is not None and model.busy >= BUSY


def could_batch(model: ModelFacts) -> bool:
    told = model.settings
    return told is not None and told.max_batch_size > 1 and not (told.batches or told.sequences)
