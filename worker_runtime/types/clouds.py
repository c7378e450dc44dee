"""What hosted platforms tell a server that they start."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SageMakerOptions:
    """``ping`` is live or ready; ``/invocations`` are of ``model``, by its path ``inference``."""

    ping: str = "ready"
    model: str = "unspecified_SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
    inference: str = "infer"


@dataclass(frozen=True, slots=True)
class VertexOptions:
    """Paths of the two routes; ``default_model`` "": the only one."""

    predict_route: str = ""
    health_route: str = ""
    default_model: str = ""
