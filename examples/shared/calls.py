"""Calls a deployed endpoint with the stock tritonclient, which knows nothing of Shoal."""

from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import np_to_triton_dtype

PROTOCOLS = ("HTTP", "gRPC")


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


class Caller:
    """One of tritonclient's two clients, connected to an endpoint; numpy in and out."""

    def __init__(self, target: Target, protocol: str) -> None:
        self.target = target
        self._headers = {"authorization": f"Bearer {target.key}"}
        self._client: Any
        if protocol == "HTTP":
            self._library: Any = tritonclient.http
            self._client = tritonclient.http.InferenceServerClient(
                target.http,
                ssl=bool(target.ca),
                ssl_options={"ca_certs": target.ca} if target.ca else None,
                network_timeout=120.0,
            )
        else:
            # gRPC has no path to put the endpoint's name in: metadata names it.
            self._headers["x-shoal-endpoint"] = target.endpoint
            self._library = tritonclient.grpc
            self._client = tritonclient.grpc.InferenceServerClient(
                target.grpc, ssl=bool(target.ca), root_certificates=target.ca or None
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def infer(
        self,
        inputs: dict[str, np.ndarray],
        output: str,
        *,
        model: str = "",
        classes: int = 0,
        **options: Any,
    ) -> np.ndarray:
        """One output of ``model`` (default: the endpoint's own). Arrays of objects go as BYTES.

        ``classes`` asks for the best classes instead, as ``b"score:index:label"``.
        Raises InferenceServerException.
        """
        tensors = []
        for name, array in inputs.items():
            tensor = self._library.InferInput(
                name, list(array.shape), np_to_triton_dtype(array.dtype)
            )
            tensor.set_data_from_numpy(array)
            tensors.append(tensor)
        wanted = self._library.InferRequestedOutput(output, class_count=classes)
        answer = self._client.infer(
            model or self.target.model,
            tensors,
            outputs=[wanted],
            headers=self._headers,
            **options,
        )
        return answer.as_numpy(output)
