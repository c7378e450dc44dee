"""SageMaker and Vertex AI: flags, and the variables by which these platforms talk to a server."""

from pathlib import Path

from msgspec.structs import replace

from worker_runtime.config import pairs
from worker_runtime.config.arguments import UsageError, Values, integer
from worker_runtime.config.settings import Listener, variable
from worker_runtime.types.listening import SageMakerOptions, VertexOptions

_PING = "SAGEMAKER_TRITON_PING_MODE"
_MODEL = "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
_INFERENCE = "SAGEMAKER_TRITON_INFERENCE_TYPE"
_CHOICES = {_PING: ("live", "ready"), _INFERENCE: ("infer", "generate", "generate_stream")}


def predicts() -> bool:
    """Vertex AI has started this server to predict: it wants its own listener and no others."""
    return variable("AIP_MODE") == "PREDICTION"


def own_listener(take: Values, kind: str) -> Listener:
    """Of HTTP or gRPC. On Vertex AI there is none unless it is asked for."""
    found = take.listener(kind)
    return (
        replace(found, enabled=False) if predicts() and not take.given(f"allow-{kind}") else found
    )


def repository() -> tuple[Path, ...]:
    """Where Vertex AI has put the models."""
    place = variable("AIP_STORAGE_URI")
    return (Path(place),) if place else ()


def sagemaker(take: Values, address: str) -> Listener:
    return _listener(take, "sagemaker", address, "SAGEMAKER_BIND_TO_PORT")


def sagemaker_options() -> SageMakerOptions:
    defaults = SageMakerOptions()
    # why live: of many models one may fail to load, and the others serve on.
    many = variable("SAGEMAKER_MULTI_MODEL") == "true"
    return SageMakerOptions(
        ping=_choice(_PING, "live" if many else defaults.ping),
        model=variable(_MODEL) or defaults.model,
        inference=_choice(_INFERENCE, defaults.inference),
    )


def vertex(take: Values, address: str) -> Listener:
    found = _listener(take, "vertex-ai", address, "AIP_HTTP_PORT")
    return (
        replace(found, enabled=True) if predicts() and not take.given("allow-vertex-ai") else found
    )


def vertex_options(take: Values) -> VertexOptions:
    return VertexOptions(
        predict_route=variable("AIP_PREDICT_ROUTE"),
        health_route=variable("AIP_HEALTH_ROUTE"),
        default_model=take.text("vertex-ai-default-model"),
    )


def check_safe_ports(take: Values, others: tuple[tuple[str, Listener], ...]) -> None:
    """Beside SageMaker's listener the ``others`` must keep to the range. Raises UsageError."""
    given = take.many("sagemaker-safe-port-range") or [variable("SAGEMAKER_SAFE_PORT_RANGE")]
    ranges = pairs.port_ranges("sagemaker-safe-port-range", filter(None, given))
    if not ranges or not take.flag("allow-sagemaker"):
        return
    low, high = ranges[-1]
    for name, listener in others:
        if listener.enabled and listener.port and not low <= listener.port <= high:
            raise UsageError(
                f"The server cannot listen to {name} requests at port {listener.port}, allowed "
                f"port range is [{low}, {high}]"
            )


def _listener(take: Values, kind: str, address: str, source: str) -> Listener:
    port = take.number(f"{kind}-port")
    text = variable(source)
    if text and not take.given(f"{kind}-port"):
        port = integer(source, text)
    return Listener(address, port, take.flag(f"allow-{kind}"))


def _choice(name: str, default: str) -> str:
    value = variable(name) or default
    if value not in _CHOICES[name]:
        raise UsageError(f"{name} is '{value}', expected one of {', '.join(_CHOICES[name])}")
    return value
