"""Pure: what makes requests slow, in fixed words; models, nodes and figures are a finding's."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """``change`` is what to do about it, ``area`` where: config, scale, nodes, client, model,
    gateway. ``inside``: the figures have it; else it comes on top of them."""

    title: str
    change: str
    area: str
    inside: bool = True


# By code, which is stable.
KINDS: Final[Mapping[str, Kind]] = {
    "cold_start": Kind(
        "Requests waited for a replica to start",
        "Keep one replica (min 1 in autoscale), or let it go to zero later (idle.after_s).",
        "scale",
    ),
    "large_payload": Kind(
        "Requests or answers are large",
        "Send less: a smaller type (FP16, UINT8), compressed pictures that the model unpacks, only "
        "the outputs that are read, or shared memory where the client runs beside it.",
        "client",
    ),
    "slow_client": Kind(
        "Clients send, or take their answers, slowly",
        "Look at the line between client and gateway, and at what the client does meanwhile.",
        "client",
    ),
    "json": Kind(
        "Tensors travel as JSON",
        "Send binary tensors: tritonclient does unless binary_data=False, curl with "
        "Inference-Header-Content-Length; or gRPC.",
        "client",
    ),
    "new_connections": Kind(
        "Clients open a connection for nearly every request",
        "Keep one client, or session, for many requests.",
        "client",
        inside=False,
    ),
    "batch_delay": Kind(
        "Requests wait for a batch that does not fill",
        "Lower max_queue_delay_microseconds of this model, or set it to 0.",
        "config",
    ),
    "no_batching": Kind(
        "Requests are computed one by one",
        "Add dynamic_batching to the configuration of this model.",
        "config",
    ),
    "sequence_slots": Kind(
        "Sequences wait for a slot",
        "End sequences that are over, lower max_sequence_idle_microseconds, or give it more "
        "instances or a larger max_batch_size.",
        "config",
    ),
    "cpu_full": Kind(
        "Its machine has no processor left",
        "Replicas on another node, fewer instances or threads for each, a smaller or quantised "
        "model: more instances on this node make it slower.",
        "nodes",
    ),
    "noisy_neighbour": Kind(
        "Others use up its machine",
        "Move it or them to another node: labels, or cordon this node and restart.",
        "nodes",
    ),
    "gpu_full": Kind(
        "The GPU has no time left",
        "Replicas on another GPU, FP16 or TensorRT, larger batches where they are small.",
        "nodes",
    ),
    "few_instances": Kind(
        "There are too few instances",
        "Raise count in instance_group of this model, or the replicas of the deployment.",
        "scale",
    ),
    "ensemble_step": Kind(
        "One step of the ensemble takes the time",
        "Make this step quicker: another format, a GPU, fewer rows.",
        "model",
    ),
    "model": Kind(
        "The model itself takes the time",
        "A smaller or quantised model, another format (ONNX, TensorRT), a GPU: neither batching "
        "nor instances make a single request quicker.",
        "model",
    ),
    "late_loop": Kind(
        "The runtime is held up",
        "Look at shoal_loop_lag_seconds and the runtime's log; send binary tensors; give Python "
        "models processes of their own.",
        "model",
    ),
    "gateway": Kind(
        "Gateway and network take the time",
        "Look at the gateway's processors and at the line to the nodes; larger requests (batches "
        "by the client) spread it.",
        "gateway",
    ),
}
