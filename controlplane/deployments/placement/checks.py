"""Pure: every question that is asked of a node before it gets a replica."""

from collections.abc import Callable
from typing import Final

from controlplane.deployments.placement.values import BUILT_IN, Check, Gpu, GpuNeed, Need, Offer
from controlplane.deployments.types import size_text

MIG: Final = "MIG-"  # how the UUIDs of MIG devices begin
PRESSURE_SHARE: Final = 0.05
PRESSURE_BYTES: Final = 2 * 10**9


def disk_pressure(total_bytes: int, free_bytes: int) -> bool:
    """Whether so little is left that logs and downloads of what runs there are in danger."""
    return bool(total_bytes) and free_bytes < min(total_bytes * PRESSURE_SHARE, PRESSURE_BYTES)


def examine(need: Need, offer: Offer) -> tuple[Check, ...]:
    """All checks, also those behind one that failed: people mend several things at once."""
    return tuple(check for question in QUESTIONS if (check := question(need, offer)) is not None)


def gpus_for(need: GpuNeed, offer: Offer) -> tuple[Gpu, ...]:
    """Those that one replica gets: the least shared first, then the tightest fit. Empty: too few.

    Deterministic: equal ones in the order of their UUIDs.
    """
    fit = sorted(
        (gpu for gpu in offer.gpus if _gpu_refusal(need, gpu) is None),
        key=lambda gpu: (gpu.replicas, gpu.memory_free_bytes, gpu.uuid),
    )
    return tuple(fit[: need.count]) if len(fit) >= need.count else ()


def _gpu_refusal(need: GpuNeed, gpu: Gpu) -> str | None:
    if gpu.uuid in need.avoid:
        return f"the replica ran out of memory on {gpu.name}"
    if need.count > 1 and gpu.uuid.startswith(MIG):
        return f"{gpu.name} is a MIG device: a process can use only one"
    if need.model.lower() not in gpu.name.lower():
        return f"{gpu.name} is no {need.model}"
    if gpu.memory_total_bytes < need.least_total_bytes:
        return f"{gpu.name} has {size_text(gpu.memory_total_bytes)} of memory"
    if gpu.memory_free_bytes < need.free_bytes:
        return f"{gpu.name} has {size_text(max(gpu.memory_free_bytes, 0))} free"
    return None


def _reports(need: Need, offer: Offer) -> Check:
    del need
    heard = "never reported" if offer.age_s is None else f"last report {offer.age_s:.0f} s ago"
    return Check("reports", offer.state == "online", f"{offer.state} ({heard})")


def _schedulable(need: Need, offer: Offer) -> Check:
    del need
    detail = "cordoned: it takes no new replicas" if offer.cordoned else "takes new replicas"
    return Check("schedulable", not offer.cordoned, detail)


def _labels(need: Need, offer: Offer) -> Check | None:
    if not need.labels:
        return None
    lacking = [f"{k}={v}" for k, v in sorted(need.labels.items()) if offer.labels.get(k) != v]
    if lacking:
        return Check("labels", False, f"has no label {', '.join(lacking)}")
    return Check("labels", True, "has every label that is asked for")


def _backends(need: Need, offer: Offer) -> Check | None:
    wanted = need.backends - BUILT_IN
    if not wanted or not offer.backends:
        return None
    missing = ", ".join(sorted(wanted - offer.backends))
    if missing:
        return Check("backends", False, f"has no backend {missing}")
    return Check("backends", True, f"has {', '.join(sorted(wanted))}")


def _machine(need: Need, offer: Offer) -> Check | None:
    """What an instance type asks of the machine as a whole."""
    if not need.cpu_count and not need.memory_bytes:
        return None
    short = []
    if offer.cpu_count and offer.cpu_count < need.cpu_count:
        short.append(f"{offer.cpu_count} of {need.cpu_count} processors")
    if offer.memory_total_bytes and offer.memory_total_bytes < need.memory_bytes:
        have, want = size_text(offer.memory_total_bytes), size_text(need.memory_bytes)
        short.append(f"{have} of {want} of memory")
    if short:
        return Check("machine", False, f"is too small for {need.instance_type}: {', '.join(short)}")
    return Check("machine", True, f"is large enough for {need.instance_type}")


def _trouble(need: Need, offer: Offer) -> Check | None:
    if offer.node_id not in need.avoid:
        return None
    return Check("gpu_memory", False, "the replica ran out of GPU memory there")


def _gpus_unasked(need: GpuNeed, offer: Offer) -> Check | None:
    """Without an instance type a replica takes what GPU there is: that must not be too full."""
    least = need.least_free_bytes
    if not least or not offer.gpus:
        return None
    most = max(gpu.memory_free_bytes for gpu in offer.gpus)
    if most >= least:
        return Check("gpus", True, f"has a GPU with {size_text(most)} free")
    said = f"has no GPU with {size_text(least)} free ({need.least_because})"
    return Check("gpus", False, f"{said}: {size_text(max(most, 0))} at most")


def _gpus(need: Need, offer: Offer) -> Check | None:
    if not need.gpu.count:
        return _gpus_unasked(need.gpu, offer)
    chosen = gpus_for(need.gpu, offer)
    if chosen:
        names = ", ".join(f"{g.name} ({size_text(g.memory_free_bytes)} free)" for g in chosen)
        return Check("gpus", True, f"gets {names}")
    said = _gpus_lacking(need.gpu, offer)
    if need.gpu.required:
        return Check("gpus", False, said)
    return Check("gpus", True, f"{said}: it would run on processors")


def _gpus_lacking(need: GpuNeed, offer: Offer) -> str:
    wanted = f"{need.count} GPU{'s' if need.count > 1 else ''}"
    if need.free_bytes:
        wanted += f" with {size_text(need.free_bytes)} free"
    if need.least_free_bytes > need.estimate_bytes:
        wanted += f" ({need.least_because})"
    if not offer.gpus:
        return f"has no GPU, {wanted} wanted"
    reasons = [reason for gpu in offer.gpus if (reason := _gpu_refusal(need, gpu)) is not None]
    if reasons:
        return f"has not {wanted}: {', '.join(reasons)}"
    return f"has {len(offer.gpus)} GPU{'s' if len(offer.gpus) > 1 else ''}, {wanted} wanted"


def _anti_affinity(need: Need, offer: Offer) -> Check | None:
    if not need.one_per_node:
        return None
    if offer.twins:
        return Check("anti_affinity", False, "runs a replica of this deployment already")
    return Check("anti_affinity", True, "runs no other replica of this deployment")


def _sandbox(need: Need, offer: Offer) -> Check | None:
    del need
    if offer.no_sandbox_for is None:
        return None
    if offer.no_sandbox_for:
        missing = ", ".join(offer.no_sandbox_for)
        return Check("sandbox", False, f"it has no sandbox for {missing}, which is required")
    return Check("sandbox", True, "its replicas run in a sandbox")


def _disk_pressure(need: Need, offer: Offer) -> Check | None:
    del need
    if not offer.disk_total_bytes:
        return None
    left = size_text(offer.disk_free_bytes)
    if offer.disk_pressure:
        return Check("disk_pressure", False, f"its disk is nearly full: {left} are left")
    return Check("disk_pressure", True, f"{left} of disk are free")


def _disk(need: Need, offer: Offer) -> Check | None:
    if not offer.disk_total_bytes:
        return None
    size = size_text(need.size_bytes)
    if offer.holds_model:
        return Check("disk", True, f"the model ({size}) is there already")
    if offer.expects_model:
        return Check("disk", True, f"the model ({size}) is on its way there already")
    room = offer.disk_room_bytes
    detail = f"{size_text(room)} of disk are free, the model has {size}"
    if offer.disk_promised_bytes:
        detail += f"; {size_text(offer.disk_promised_bytes)} more are promised to other downloads"
    return Check("disk", room >= need.size_bytes, detail)


Question = Callable[[Need, Offer], Check | None]
QUESTIONS: Final[tuple[Question, ...]] = (
    _reports,
    _schedulable,
    _labels,
    _backends,
    _sandbox,
    _machine,
    _trouble,
    _gpus,
    _anti_affinity,
    _disk_pressure,
    _disk,
)
