"""Pure: what a runtime says of a model that it cannot load, as a code and what helps."""

import re

from node_agent.failure import ReplicaFailed
from wire.messages import Problem
from worker_runtime.types.gpu_memory import gpu_memory_ran_out

CORRECT_IT = "Correct the model or its configuration, then deploy the new version."
NO_GPU = (
    "This node has no such GPU. KIND_AUTO in instance_group takes a GPU where there is one, and "
    "else the processor; leave gpus out."
)
GPU_FULL = (
    "Free memory of the node's GPUs: nvidia-smi names who holds it.",
    "Lower count in instance_group, or the largest batch; or quantise the model.",
    "Deploy to a node, or with an instance type, whose GPUs have more memory.",
)
NETWORK_NONE = (
    "This replica has no network (SHOAL_SANDBOX_NETWORK=none on its node): a model that fetches "
    "something when it is loaded, and a requirements.txt, need `all` there, or must bring it."
)
LONGEST = 20_000
LONGEST_LINE = 1000
# What a machine or a network says that may be well again a moment later. What a model or its
# configuration lacks is not among them: that fails the same way each time.
_PASSING = re.compile(
    r"timed? ?out|timeout|temporar(?:y|ily)|try again later|too many open files"
    r"|connection (?:refused|reset|aborted|error)|(?:resource|device or resource) busy"
    r"|name or service not known|text file busy|stale file handle|input/output error",
    re.IGNORECASE,
)


# What libraries say that may open no socket; "Errno 1" is what the sandbox answers them.
_NO_NETWORK = re.compile(
    r"failed to establish a new connection|temporary failure in name resolution"
    r"|name or service not known|network is unreachable|urlopen error"
    r"|\[Errno 1\] operation not permitted",
    re.IGNORECASE,
)


def without_network(text: str) -> bool:
    """Whether these lines may be of a program that looked for a network in vain."""
    return bool(_NO_NETWORK.search(text))


def may_pass(problem: Problem) -> bool:
    """Whether the same load may well succeed a moment later.

    By the runtime's reason alone: the lines of the log that follow it may speak of anything.
    """
    reason = problem.message + "\n" + problem.detail.partition("\n\n")[0]
    return problem.code == "ModelLoadFailed" and bool(_PASSING.search(reason))


def load_failed(model: str, reason: str) -> ReplicaFailed:
    """``reason`` is the runtime's own; it is kept as the detail, whatever is made of it."""
    reason = reason[:LONGEST]  # a report holds those of all replicas
    first = reason.splitlines()[0].rstrip(":")[:LONGEST_LINE]
    if gpu_memory_ran_out(reason):
        return ReplicaFailed(
            "GpuOutOfMemory",
            f"Model {model!r} does not fit into the GPU's memory: {first}",
            detail=reason,
            hints=GPU_FULL,
        )
    missing = "unsupported gpu id" in reason or "no GPU" in reason
    return ReplicaFailed(
        "ModelLoadFailed",
        f"Model {model!r} cannot be loaded: {first}",
        detail=reason,
        hints=(NO_GPU, CORRECT_IT) if missing else (CORRECT_IT,),
    )
