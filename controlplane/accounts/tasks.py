"""Background jobs of accounts: entry points of its services."""

from celery import shared_task

from controlplane.accounts import idempotency, services


@shared_task(name="accounts.prune")
def prune() -> None:
    idempotency.answers_prune()
    services.sessions_prune()
    services.counters_prune()
