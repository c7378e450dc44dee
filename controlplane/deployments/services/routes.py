"""What gateways confirm: the last step of every operation."""

from django.utils import timezone

from controlplane.deployments.models import Endpoint
from controlplane.deployments.services.replicas import retirements_end
from controlplane.deployments.services.reports import endpoint_advance


def gateway_confirmed(*, generation_by_endpoint: dict[str, int]) -> None:
    """Every live gateway routes at least these generations (``RoutedEndpoint.generation``).

    Called with each gateway report; numbers not above those confirmed before change nothing.
    """
    now = timezone.now()
    for endpoint in Endpoint.objects.filter(name__in=generation_by_endpoint):
        confirmed = min(generation_by_endpoint[endpoint.name], endpoint.generation)
        moved = Endpoint.objects.filter(pk=endpoint.pk, confirmed_generation__lt=confirmed).update(
            confirmed_generation=confirmed
        )
        if moved:
            retirements_end(now)
            endpoint_advance(name=endpoint.name, now=now)
