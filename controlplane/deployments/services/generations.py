"""The number of an endpoint that says whether gateways have acted on what it must be."""

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.deployments.models import Endpoint
from controlplane.nodes import wake_ups


@transaction.atomic(savepoint=False)
def endpoint_generation_raise(endpoint_ids: Iterable[int], **changes: Any) -> None:
    """Something that gateways must know has changed, or changes here: columns of these endpoints.

    The one place where the number rises; gateways are woken on commit.
    """
    raised = Endpoint.objects.filter(pk__in=set(endpoint_ids)).update(
        **{"updated_at": timezone.now(), **changes}, generation=F("generation") + 1
    )
    if raised:
        wake_ups.gateways_wake_on_commit()
