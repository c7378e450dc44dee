"""The API for gateway agents, below /agent/v1/gateway/. All show the gateway token, and a
certificate as soon as they have one."""

import secrets
from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from controlplane.core.errors import Invalid
from controlplane.core.jobs import enqueue_on_commit
from controlplane.gateway import authority, services
from controlplane.gateway.services import Caller
from controlplane.gateway.snapshots import snapshots
from controlplane.metrics.selectors import own_requests_key, request_salt
from controlplane.metrics.services import gateway_samples_ingest
from controlplane.nodes import wake_ups
from controlplane.nodes.auth import shown
from controlplane.nodes.claims import name_refused, tidied
from controlplane.nodes.wake_ups import Listener
from controlplane.operations.selectors import rollouts_active
from controlplane.operations.services import deployment_wake
from wire import codec
from wire.messages import CertificateRequest, GatewayReport
from wire.samples import GatewaySampleBatch, GatewaySamplesReply
from wire.serving_certificates import ServingCertificateRequest
from wire.waking import WakeReply, WakeRequest

View = Callable[[HttpRequest, Caller], HttpResponseBase]
LONGEST_VERSION = 64  # characters, as the column has them


def gateway_only(*, enrolling: bool = False) -> Callable[[View], Callable[..., HttpResponseBase]]:
    """Refuses who does not prove to be a gateway, and messages that cannot be read.

    ``enrolling``: the token alone is enough there, for who has no certificate yet.
    """

    def guard(view: View) -> Callable[..., HttpResponseBase]:
        @csrf_exempt
        @wraps(view)
        def guarded(request: HttpRequest) -> HttpResponseBase:
            caller = services.gateway_admitted(
                authorization=request.headers.get("Authorization", ""),
                certificate=shown(getattr(request, "scope", {})),
                enrolling=enrolling,
                now=timezone.now(),
            )
            try:
                return view(request, caller)
            except codec.WireError as error:
                raise Invalid(
                    str(error),
                    code="MessageInvalid",
                    hints=("Let gateway agent and control plane have the same version.",),
                ) from error

        return guarded

    return guard


@gateway_only(enrolling=True)
@require_POST
def certificate(request: HttpRequest, caller: Caller) -> HttpResponse:
    wanted = codec.decode(CertificateRequest, request.body)
    answer = services.gateway_certificate(
        caller=caller, name=wanted.name, csr=wanted.csr, now=timezone.now()
    )
    return HttpResponse(codec.encode(answer), content_type="application/json")


@gateway_only()
@require_GET
def serving_authority(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Who signs what clients see, and whom they trust."""
    del request, caller
    told = authority.serving_authority(timezone.now())
    return HttpResponse(codec.encode(told), content_type="application/json")


@gateway_only()
@require_POST
def serving_certificate(request: HttpRequest, caller: Caller) -> HttpResponse:
    wanted = codec.decode(ServingCertificateRequest, request.body)
    answer = services.serving_certificate(caller=caller, request=wanted, now=timezone.now())
    return HttpResponse(codec.encode(answer), content_type="application/json")


@gateway_only()
@require_GET
def snapshot(request: HttpRequest, caller: Caller) -> HttpResponse:
    del caller
    newest = snapshots.newest()
    if request.GET.get("version") == newest.version:
        return HttpResponse(status=304)
    return HttpResponse(newest.content, content_type="application/json")


@gateway_only()
@require_GET
def wake_up_stream(request: HttpRequest, caller: Caller) -> HttpResponseBase:
    """Says when there is something new to be fetched."""
    del request
    # why any name for who shows no certificate: one must not end the stream of another
    return wake_ups.answer(Listener(f"gateway/{caller.name or secrets.token_hex(8)}"))


@gateway_only()
@require_POST
def report(request: HttpRequest, caller: Caller) -> HttpResponse:
    # why as of nodes: what it says reaches events, pages and columns of a size
    told, _ = tidied(codec.decode(GatewayReport, request.body))
    if expected := name_refused(told.name):
        raise Invalid(f"name: expected {expected}.", field="name")
    if len(told.applied_version) > LONGEST_VERSION:
        raise Invalid(
            f"applied_version: {len(told.applied_version)} characters, "
            f"expected at most {LONGEST_VERSION}.",
            field="applied_version",
        )
    services.gateway_report(told, caller=caller)
    return JsonResponse({})


@gateway_only()
@require_POST
def samples(request: HttpRequest, caller: Caller) -> HttpResponse:
    batch, _ = tidied(codec.decode(GatewaySampleBatch, request.body))
    told = GatewaySamplesReply(
        gateway_samples_ingest(batch, caller.name), request_salt(), own_requests_key()
    )
    answer = JsonResponse(codec.as_data(told))
    # why by samples, and not by the clock alone: a bad version would serve up to 5 s longer
    if batch.samples and rollouts_active({one.endpoint for one in batch.samples}).exists():
        enqueue_on_commit("operations.rollouts", expires_s=5)
    return answer


@gateway_only()
@require_POST
def wake(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Requests wait at this gateway for a replica of a deployment that may be at zero."""
    del caller
    asked = codec.decode(WakeRequest, request.body)
    found = deployment_wake(
        endpoint=asked.endpoint, deployment=asked.deployment, now=timezone.now()
    )
    answer = WakeReply(wakes=found.wakes, reason=found.reason)
    return HttpResponse(codec.encode(answer), content_type="application/json")


@gateway_only()
@require_POST
def leave(request: HttpRequest, caller: Caller) -> HttpResponse:
    del request
    services.gateway_leave(caller=caller)
    return JsonResponse({})
