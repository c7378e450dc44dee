"""The main journey on everything of the chart: from the link of the first visit to answers."""

from pathlib import Path

import numpy as np
import pytest
import tritonclient.grpc as triton_grpc
import tritonclient.http as triton_http

from tests.production.calls import CallsCase
from tests.production.cluster import Pod
from tests.production.installed import NODES, SCORING, Installed

VALUES = np.array([[1, 2, 3, 4]], np.float32)


def over_http(gateway: Pod, endpoint: str, key: str) -> np.ndarray:
    """As a stock client calls this very gateway, in clear."""
    tensor = triton_http.InferInput("x", VALUES.shape, "FP32")
    tensor.set_data_from_numpy(VALUES)
    url = f"{gateway.pocket.address}:8090/endpoints/{endpoint}"
    with triton_http.InferenceServerClient(url) as client:
        answer = client.infer("tiny", [tensor], headers={"Authorization": f"Bearer {key}"})
    return np.asarray(answer.as_numpy("y"))


def over_grpc(gateway: Pod, endpoint: str, key: str, authority: Path) -> np.ndarray:
    """The same with TLS, under the name that all gateways share."""
    tensor = triton_grpc.InferInput("x", VALUES.shape, "FP32")
    tensor.set_data_from_numpy(VALUES)
    named = ("grpc.ssl_target_name_override", SCORING.removeprefix("https://"))
    metadata = {"authorization": f"Bearer {key}", "x-shoal-endpoint": endpoint}
    with triton_grpc.InferenceServerClient(
        f"{gateway.pocket.address}:8443",
        ssl=True,
        root_certificates=str(authority),
        channel_args=[named],
    ) as client:
        answer = client.infer("tiny", [tensor], headers=metadata)
    return np.asarray(answer.as_numpy("y"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of gevent, at import
def test_from_the_first_visit_to_answers(installed: Installed, case: CallsCase) -> None:
    """Set up, upload, deploy to three nodes, call through both gateways by tritonclient."""
    studio, cluster = installed.studio, installed.cluster
    session = studio.get("/session")
    assert (session["user"]["username"], session["user"]["role"]) == ("ada", "admin")
    installed.endpoint("journey", instance_count=NODES)
    assert len({replica["node"] for replica in studio.replicas("journey")}) == NODES
    key, gateways = studio.key("journey"), cluster.of("gateway")
    assert len(gateways) == 2
    for gateway in gateways:
        assert np.array_equal(over_http(gateway, "journey", key), VALUES)
        assert np.array_equal(over_grpc(gateway, "journey", key, installed.authority), VALUES)
    with case.under(installed.calls("journey")) as calls:
        calls.more(200)
    assert calls.lost == 0, calls.explain()
    studio.delete("journey")
    assert cluster.restarts() == []
    case.saw(f"{sum(len(cluster.of(kind)) for kind in cluster.kinds())} pods, none started again")
