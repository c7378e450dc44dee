"""The API for node agents: what to run, what it measures and logs, and the bytes."""

import dataclasses
import logging
from collections.abc import Iterable
from functools import partial

from django.http import HttpResponse, HttpResponseBase, HttpResponseNotModified, JsonResponse
from django.utils import timezone

from controlplane.core.errors import NotFound
from controlplane.core.jobs import enqueue_on_commit
from controlplane.core.sending import bytes_response, has_seen
from controlplane.deployments.selectors.desired import desired_state, node_may_read
from controlplane.deployments.selectors.ownership import Claim, claims_upheld
from controlplane.deployments.selectors.sampling import looks_at, sampling_s
from controlplane.metrics.selectors import request_salt
from controlplane.metrics.services import logs_ingest, samples_ingest
from controlplane.nodes.auth import NodeRequest, NodeView, message, reply
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import cadence_now, clock_skew_s
from controlplane.registry.stores import blob_store
from wire.messages import ReportReply
from wire.samples import LogBatch, LogEntry, ReplicaSample, SampleBatch, TracedRequest

Said = LogEntry | ReplicaSample | TracedRequest

logger = logging.getLogger(__name__)
LOOKED_S = 0.2  # of one endpoint many nodes may sample replicas in the same moment
NAMED = 5  # of the foreign replicas in a warning
# The name of a blob is its digest; private: only who may read it may keep it.
UNCHANGING = "private, max-age=31536000, immutable"


class DesiredView(NodeView):
    def get(self, request: NodeRequest) -> HttpResponse:
        return reply(desired_state(request.node))


class SamplesView(NodeView):
    def post(self, request: NodeRequest) -> HttpResponse:
        node = request.node
        batch = message(SampleBatch, request)
        own = _own(node, (*batch.samples, *batch.requests), "samples")
        batch = dataclasses.replace(
            batch,
            samples=tuple(sample for sample in batch.samples if _claim(sample) in own),
            requests=tuple(traced for traced in batch.requests if _claim(traced) in own),
        )
        samples_ingest(node_id=node.id, node=node.name, batch=batch, ahead_s=clock_skew_s(node))
        endpoints = {sample.endpoint for sample in batch.samples}
        models = [model for sample in batch.samples for model in sample.models]
        waiting = any(model.pending_request_count for model in models)
        looks = looks_at(endpoints)
        if looks.due(timezone.now()):
            enqueue_on_commit("operations.autoscale", expires_s=5)
        if looks.copied:
            enqueue_on_commit("operations.rollouts", expires_s=5, unless_within_s=LOOKED_S)
        pace = cadence_now()
        return reply(
            ReportReply(
                desired_generation=node.desired_generation,
                sample_interval_s=sampling_s(endpoints, pace, looks, waiting=waiting),
                poll_interval_s=pace.poll_s,
                heartbeat_interval_s=pace.report_s,
                request_salt=request_salt(),
            )
        )


class LogsView(NodeView):
    def post(self, request: NodeRequest) -> HttpResponse:
        node = request.node
        batch = message(LogBatch, request)
        own = _own(node, batch.entries, "log lines")
        entries = tuple(entry for entry in batch.entries if _claim(entry) in own)
        logs_ingest(LogBatch(entries), ahead_s=clock_skew_s(node))
        return JsonResponse({})


def _claim(said: Said) -> Claim:
    return said.replica_id, said.endpoint, said.deployment


def _own(node: Node, said: Iterable[Said], what: str) -> set[Claim]:
    """What is of this node's own replicas. The rest is left out, with a warning.

    Not refused: an agent would send the same batch for ever, and its own lines with it.
    """
    claims = {_claim(one) for one in said}
    own = claims_upheld(node, claims) if claims else set()
    if foreign := sorted(claims - own):
        logger.warning(
            "Node %s sent %s of %d replica(s) that are not its own; left out: %s",
            node.name,
            what,
            len(foreign),
            ", ".join(
                f"{key!r} ({endpoint!r}, {name!r})" for key, endpoint, name in foreign[:NAMED]
            ),
        )
    return own


class BlobView(NodeView):
    def get(self, request: NodeRequest, sha256: str) -> HttpResponseBase:
        store = blob_store()
        size = store.size(sha256) if node_may_read(request.node, sha256) else None
        # why one answer for both: a node learns nothing about blobs that are none of its business
        if size is None:
            raise NotFound(
                "This node needs no such blob.",
                code="BlobNotFound",
                hints=("Fetch the desired state again: it names what is needed.",),
            )
        tag = f'"{sha256}"'
        if has_seen(request, tag):
            return HttpResponseNotModified(headers={"ETag": tag, "Cache-Control": UNCHANGING})
        if address := store.address(sha256):  # signed, and soon stale: not to be kept
            return HttpResponse(status=307, headers={"Location": address})
        response = bytes_response(
            size, partial(store.open, sha256), request.headers.get("Range", "")
        )
        response["ETag"], response["Cache-Control"] = tag, UNCHANGING
        return response
