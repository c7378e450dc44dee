"""Jobs of golden cases, by name."""

from celery import shared_task
from django.utils import timezone


@shared_task(name="golden.rollouts")
def golden_rollouts() -> None:
    # why here: what calls models takes memory that no other job needs
    from controlplane.golden.comparisons import comparisons_due  # noqa: PLC0415
    from controlplane.golden.rollouts import rollouts_due  # noqa: PLC0415

    now = timezone.now()
    rollouts_due(now=now)
    comparisons_due(now=now)


@shared_task(name="golden.rollout")
def golden_rollout(rollout: str) -> None:
    from controlplane.golden.rollouts import rollout_ask  # noqa: PLC0415 - see above

    rollout_ask(rollout, now=timezone.now())


@shared_task(name="golden.candidate")
def golden_candidate(operation: str) -> None:
    from controlplane.golden.candidates import candidate_ask  # noqa: PLC0415 - see above

    candidate_ask(operation, now=timezone.now())


@shared_task(name="golden.comparison")
def golden_comparison(rollout: str) -> None:
    from controlplane.golden.comparisons import comparison_ask  # noqa: PLC0415 - see above

    comparison_ask(rollout, now=timezone.now())
