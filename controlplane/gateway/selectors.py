"""Reads of gateways: who is alive, and what each of them has confirmed."""

from datetime import datetime, timedelta

from controlplane.gateway.models import Gateway, Release
from controlplane.operations.services import GatewayFacts, LeftOutPart

# A gateway that is silent for longer no longer holds up operations; it catches up by itself. It
# still counts for what is said to be done: its Envoy may serve on.
ALIVE_FOR = timedelta(seconds=15)
# A gateway without a certificate that is silent for longer is no reason to go on without.
UPGRADED_WITHIN = timedelta(days=1)


def gateways_alive(now: datetime) -> list[Gateway]:
    return list(Gateway.objects.filter(last_seen_at__gte=now - ALIVE_FOR).order_by("name"))


def is_alive(gateway: Gateway, now: datetime) -> bool:
    return gateway.last_seen_at is not None and gateway.last_seen_at >= now - ALIVE_FOR


def gateways_known(now: datetime) -> list[GatewayFacts]:
    """All that ever reported and nobody removed, with what they applied last."""
    rows = list(Gateway.objects.filter(last_seen_at__isnull=False).order_by("name"))
    versions = {row.applied_version for row in rows}
    releases = dict(
        Release.objects.filter(version__in=versions).values_list("version", "generations")
    )
    return [
        GatewayFacts(
            name=row.name,
            last_seen_at=row.last_seen_at,
            silent=not is_alive(row, now),
            generations=releases.get(row.applied_version, {}),
        )
        for row in rows
        if row.last_seen_at is not None
    ]


def some_proved() -> bool:
    """Whether any gateway has shown a certificate so far."""
    return Gateway.objects.filter(certified_at__isnull=False).exists()


def token_is_enough(now: datetime) -> bool:
    """Whether gateways may do without a certificate: as long as one of before them reports."""
    before = Gateway.objects.filter(certified_at=None, last_seen_at__gte=now - UPGRADED_WITHIN)
    return before.exists() or not some_proved()


def generations_confirmed(now: datetime) -> dict[str, int]:
    """Endpoint name -> generation that every live gateway routes; only endpoints that all know."""
    versions = {gateway.applied_version for gateway in gateways_alive(now)}
    releases = list(Release.objects.filter(version__in=versions))
    if not releases or len(releases) < len(versions):
        return {}
    first, *others = [dict(release.generations) for release in releases]
    return {
        name: min(generation, *(other[name] for other in others)) if others else generation
        for name, generation in first.items()
        if all(name in other for other in others)
    }


def parts_left_out(now: datetime) -> dict[str, list[LeftOutPart]]:
    """Endpoint name -> what some live gateway does not route of it, and why."""
    gateways = gateways_alive(now)
    versions = {gateway.applied_version for gateway in gateways}
    releases = {row.version: row for row in Release.objects.filter(version__in=versions)}
    found: dict[str, list[LeftOutPart]] = {}
    for gateway in gateways:
        release = releases.get(gateway.applied_version)
        for part in gateway.left_out if release else []:
            generation = release.generations.get(part["endpoint"]) if release else None
            if generation is not None:
                told = LeftOutPart(gateway=gateway.name, generation=generation, **part)
                found.setdefault(part["endpoint"], []).append(told)
    return found
