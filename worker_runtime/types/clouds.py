"""What hosted platforms tell a server that they start."""

from msgspec import Struct


class SageMakerOptions(Struct, frozen=True):
    """``ping`` is live or ready; ``/invocations`` are of ``model``, by its path ``inference``."""

    ping: str = "ready"
    model: str = "unspecified_SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
    inference: str = "infer"


class VertexOptions(Struct, frozen=True):
    """Paths of the two routes; ``default_model`` "": the only one."""

    predict_route: str = ""
    health_route: str = ""
    default_model: str = ""
