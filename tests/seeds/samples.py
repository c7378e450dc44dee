"""Deployments of the kinds that Azure's public samples have: from their files, asked, and compared.

Each folder of ``samples`` has a ``deployment.yml``, and ``request.json`` with ``answer.json`` (or
``.bin``, or the ``request-path`` of a GET), or ``refused.txt`` with what is said instead. Run by
``python -m tests.seeds``.
"""

import json
import random
import sys
from pathlib import Path

import httpx
from onnx import TensorProto, helper

from shoal import MLClient, load_online_deployment, load_online_endpoint
from shoal.client import ShoalError

HERE = Path("samples")
LABEL = "84 : PEACOCK"


def identity(path: Path) -> None:
    """A graph as MLflow saves it beside its MLmodel."""
    shape = ("rows", 2)
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "g", *([t] for t in tensors)
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())


def ask(ml_client: MLClient, endpoint: str, deployment: str, folder: Path) -> tuple[object, object]:
    """What was answered, and what is to be."""
    shown = ml_client.online_endpoints.get(endpoint)
    key = ml_client.online_endpoints.get_keys(endpoint).primary_key
    headers = {"Authorization": f"Bearer {key}", "azureml-model-deployment": deployment}
    with httpx.Client(headers=headers) as client:
        if (folder / "request-path").exists():
            path = (folder / "request-path").read_text().strip()
            answer = client.get(f"{shown.scoring_uri}{path}")
        elif (folder / "request.bin").exists():
            answer = client.post(shown.scoring_uri, content=(folder / "request.bin").read_bytes())
            return answer.content, (folder / "answer.bin").read_bytes()
        else:
            text = ml_client.online_endpoints.invoke(
                endpoint, deployment_name=deployment, request_file=folder / "request.json"
            )
            return json.loads(text), json.loads((folder / "answer.json").read_text())
    return answer.json(), json.loads((folder / "answer.json").read_text())


def deployed(ml_client: MLClient, endpoint: str, folder: Path) -> tuple[object, object]:
    file = folder / "deployment.yml"
    deployment = load_online_deployment(file, params_override=[{"endpoint_name": endpoint}])
    refused = folder / "refused.txt"
    try:
        ml_client.online_deployments.begin_create_or_update(deployment).result()
    except ShoalError as error:
        if not refused.exists():
            raise
        return str(error), refused.read_text().strip()
    return ask(ml_client, endpoint, deployment.name, folder)


def main() -> int:
    identity(HERE / "mlflow-onnx" / "model" / "model.onnx")
    ml_client = MLClient(show_progress=False)
    endpoint = f"samples-{random.randint(0, 10000)}"
    ml_client.begin_create_or_update(load_online_endpoint({"name": endpoint})).result()
    wrong = 0
    for folder in sorted(path for path in HERE.iterdir() if path.is_dir()):
        told, expected = deployed(ml_client, endpoint, folder)
        good = told == expected
        wrong += not good
        print(
            f"{'ok ' if good else 'BAD'} {folder.name}: {told!r}"
            + ("" if good else f", expected {expected!r}")
        )
    ml_client.online_endpoints.begin_delete(endpoint).result()
    if not wrong:
        print(LABEL)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
