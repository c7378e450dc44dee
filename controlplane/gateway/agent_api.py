"""The door for gateway agents, below /agent/v1/gateway/. All show the gateway token."""

import hmac
from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from controlplane.core.errors import Invalid, Unauthenticated
from controlplane.gateway import services
from controlplane.metrics.services import gateway_samples_ingest
from wire import codec
from wire.messages import GatewayReport, GatewaySampleBatch

View = Callable[[HttpRequest], HttpResponse]


def gateway_only(view: View) -> View:
    """Refuses callers without the gateway token, and messages that cannot be read."""

    @csrf_exempt
    @wraps(view)
    def guarded(request: HttpRequest) -> HttpResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        right = hmac.compare_digest(token.encode(), settings.SHOAL_GATEWAY_TOKEN.encode())
        if scheme.lower() != "bearer" or not right:
            raise Unauthenticated("This door is for gateways: send the gateway token.")
        try:
            return view(request)
        except codec.WireError as error:
            raise Invalid(
                str(error),
                code="MessageInvalid",
                hints=("Let gateway agent and control plane have the same version.",),
            ) from error

    return guarded


@gateway_only
@require_GET
def snapshot(request: HttpRequest) -> HttpResponse:
    current = services.snapshot_release()
    if request.GET.get("version") == current.version:
        return HttpResponse(status=304)
    return HttpResponse(codec.encode(current), content_type="application/json")


@gateway_only
@require_POST
def report(request: HttpRequest) -> HttpResponse:
    services.gateway_report(codec.decode(GatewayReport, request.body))
    return JsonResponse({})


@gateway_only
@require_POST
def samples(request: HttpRequest) -> HttpResponse:
    batch = codec.decode(GatewaySampleBatch, request.body)
    return JsonResponse({"sample_interval_s": gateway_samples_ingest(batch)})
