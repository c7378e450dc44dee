"""What gateways confirm: the last step of every operation."""

from django.db.models import F

from controlplane.deployments.models import Endpoint


def gateway_confirmed(*, generation_by_endpoint: dict[str, int]) -> None:
    """Every live gateway routes at least these generations (``RoutedEndpoint.generation``).

    Called with each gateway report; older numbers than already confirmed change nothing.
    """
    behind = Endpoint.objects.filter(
        name__in=generation_by_endpoint, confirmed_generation__lt=F("generation")
    )
    for endpoint in behind:
        confirmed = min(generation_by_endpoint[endpoint.name], endpoint.generation)
        Endpoint.objects.filter(pk=endpoint.pk, confirmed_generation__lt=confirmed).update(
            confirmed_generation=confirmed
        )
