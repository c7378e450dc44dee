"""Calls a deployed endpoint with the stock tritonclient, which knows nothing of Shoal."""

from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np
import tritonclient.grpc
import tritonclient.http

BATCH = 4  # what Triton allows a model whose config.pbtxt does not say otherwise


@dataclass(frozen=True, slots=True)
class Target:
    """``http`` is host:port/endpoints/<name>, ``grpc`` host:port; ``ca`` is empty without TLS."""

    endpoint: str
    model: str
    key: str
    http: str
    grpc: str
    ca: str

    @classmethod
    def of(cls, deployed: dict[str, Any], *, plain: bool) -> Self:
        """From what ``shoal deploy -o json`` printed."""
        uri = urlsplit(deployed["plain_uri"] if plain else deployed["scoring_uri"])
        return cls(
            endpoint=deployed["endpoint"],
            model=deployed["model_name"],
            key=deployed["primaryKey"],
            http=f"{uri.netloc}{uri.path.rstrip('/')}",
            grpc=uri.netloc if plain else deployed["grpc_target"],
            ca="" if plain else deployed["ca_path"],
        )


def over_http(target: Target, images: np.ndarray) -> np.ndarray:
    """Logits [n, 10] of images [n, 1, 8, 8], in binary tensors."""
    options = {"ca_certs": target.ca} if target.ca else None
    client = tritonclient.http.InferenceServerClient(
        target.http, ssl=bool(target.ca), ssl_options=options
    )
    headers = {"Authorization": f"Bearer {target.key}"}
    return _in_batches(tritonclient.http, client, target, images, headers)


def over_grpc(target: Target, images: np.ndarray) -> np.ndarray:
    """As ``over_http``; the endpoint is named by metadata, since gRPC has no path to put it in."""
    client = tritonclient.grpc.InferenceServerClient(
        target.grpc, ssl=bool(target.ca), root_certificates=target.ca or None
    )
    headers = {"authorization": f"Bearer {target.key}", "x-shoal-endpoint": target.endpoint}
    return _in_batches(tritonclient.grpc, client, target, images, headers)


def _in_batches(
    library: Any, client: Any, target: Target, images: np.ndarray, headers: dict[str, str]
) -> np.ndarray:
    logits = []
    for start in range(0, len(images), BATCH):
        batch = images[start : start + BATCH]
        image = library.InferInput("image", list(batch.shape), "FP32")
        image.set_data_from_numpy(batch)
        answer = client.infer(target.model, [image], headers=headers)
        logits.append(answer.as_numpy("logits"))
    client.close()
    return np.concatenate(logits)
