"""What public samples do with the genuine ``azure-ai-ml``, against Shoal: run by the Python of
``.venv-azure``, which has nothing of ours. Each call and its result is printed.

The environment says where: AZUREML_DEV_URL_MFE, REQUESTS_CA_BUNDLE, SHOAL_TOKEN; with
SHOAL_RECORD all requests are written there.
"""

import base64
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import requests

from azure.ai.ml import MLClient
from azure.ai.ml.constants import AssetTypes
from azure.ai.ml.entities import (
    CodeConfiguration,
    DataCollector,
    DeploymentCollection,
    Environment,
    ManagedOnlineDeployment,
    ManagedOnlineEndpoint,
    Model,
    OnlineRequestSettings,
    ProbeSettings,
)
from azure.core.credentials import AccessToken
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError

LABEL = "84 : PEACOCK"
LARGE = 70 * 2**20  # more than the package sends in one request
WORKSPACE = (
    "/subscriptions/my-subscription/resourceGroups/my-group"
    "/providers/Microsoft.MachineLearningServices/workspaces/my-workspace"
)
LONGEST_BODY = 4096
SENT_HEADERS = ("content-type", "x-ms-blob-type", "if-none-match", "x-ms-meta-")


class ShoalCredential:
    """A token of Shoal's API where Azure's package wants a credential."""

    def __init__(self, token):
        self.token = token

    def get_token(self, *scopes, **options):
        return AccessToken(self.token, int(time.time()) + 3600)


class Recorder:
    """Requests to our routes as the package's HTTP library is asked for them."""

    def __init__(self):
        self.found, self.call, self.on = [], "", True
        self._send = requests.Session.request
        requests.Session.request = self._recorded(requests.Session.request)

    def _recorded(self, send):
        def request(session, method, url, **more):
            answer = send(session, method, url, **more)
            parts = urlsplit(url)
            ours = parts.path.startswith(("/subscriptions/", "/azureml/"))
            if self.on and ours and "/mfeOperation" not in parts.path:  # those have names of ours
                self._note(method, parts, more, answer.status_code)
            return answer

        return request

    def _note(self, method, parts, more, status):
        data = more.get("data") or b""
        if hasattr(data, "read"):
            data.seek(0)
            data = data.read()
        data = data.encode() if isinstance(data, str) else bytes(data)
        if len(data) > LONGEST_BODY:
            data = b"weights"
        headers = {
            name.lower(): value
            for name, value in (more.get("headers") or {}).items()
            if name.lower().startswith(SENT_HEADERS)
        }
        path = parts.path.replace(WORKSPACE, "~")
        row = {"call": self.call, "method": method, "path": path, "query": parts.query}
        body = {"base64": base64.b64encode(data).decode()}
        if parts.path.startswith("/subscriptions/"):
            body = {"json": json.loads(data)} if data else {}
        self.found.append({**row, "headers": headers, **body, "status": status})


recorder = Recorder()
began = time.time()


def step(call, *arguments, **named):
    """Do it, print it, and return what came of it."""
    recorder.call = f"{type(call.__self__).__name__}.{call.__name__}"
    print(f"{time.time() - began:6.1f} s  {recorder.call}", flush=True)
    found = call(*arguments, **named)
    if hasattr(found, "result"):
        found = found.result()
    return found


def tell(**found):
    for name, value in found.items():
        print(f"            {name}: {value}", flush=True)


def refused(kind, call, *arguments, **named):
    try:
        step(call, *arguments, **named)
    except kind as error:
        tell(refused=str(error).splitlines()[0])
        return
    raise AssertionError(f"{call} was not refused")


def client():
    credential = ShoalCredential(os.environ["SHOAL_TOKEN"])
    return MLClient(
        credential,
        "my-subscription",
        "my-group",
        "my-workspace",
        enable_telemetry=False,
        show_progress=False,
    )


def environments(ml):
    conda = {
        "name": "score",
        "channels": ["conda-forge"],
        "dependencies": ["python=3.10", {"pip": ["azureml-inference-server-http"]}],
    }
    made = step(
        ml.environments.create_or_update,
        Environment(name="score-list", conda_file=conda, image="mcr.microsoft.com/azureml/x"),
    )
    tell(environment=f"{made.name}:{made.version}")
    found = step(ml.environments.get, "score-list", "1")
    assert found.conda_file == conda, found.conda_file
    listed = [one.name for one in step(ml.environments.list)]
    tell(listed=listed)
    assert "score-list" in listed


def models(ml):
    made = step(
        ml.models.create_or_update,
        Model(
            name="dense",
            path="single-model/models",
            type=AssetTypes.TRITON_MODEL,
            description="DenseNet's shape",
            tags={"seed": "1"},
        ),
    )
    tell(model=f"{made.name}:{made.version}", path=made.path)
    assert made.version == "1"
    tell(listed=[one.name for one in step(ml.models.list)])
    versions = step(ml.models.list, "dense")
    tell(versions=[(one.version, one.tags) for one in versions])
    found = step(ml.models.get, "dense", label="latest")
    tell(description=found.description, type=found.type)
    step(ml.models.archive, "dense", "1")
    assert not list(step(ml.models.list, "dense"))
    step(ml.models.restore, "dense", "1")
    refused(ResourceNotFoundError, ml.models.get, "nothing", "1")


def triton(ml):
    endpoints, deployments = ml.online_endpoints, ml.online_deployments
    step(
        endpoints.begin_create_or_update,
        ManagedOnlineEndpoint(name="azure-triton", auth_mode="key", description="by the package"),
    )
    blue = ManagedOnlineDeployment(
        name="blue",
        endpoint_name="azure-triton",
        model="azureml:dense:1",
        instance_type="Standard_DS3_v2",
        instance_count=1,
        request_settings=OnlineRequestSettings(request_timeout_ms=9000),
        readiness_probe=ProbeSettings(initial_delay=1, period=1, timeout=1),
        data_collector=DataCollector(
            collections={
                "model_inputs": DeploymentCollection(enabled="true"),
                "model_outputs": DeploymentCollection(enabled="true"),
            },
            rolling_rate="hour",
            sampling_rate=0.5,
        ),
    )
    made = step(deployments.begin_create_or_update, blue)
    tell(state=made.provisioning_state, model=made.model, count=made.instance_count)
    endpoint = step(endpoints.get, "azure-triton")
    endpoint.traffic = {"blue": 100}
    endpoint = step(endpoints.begin_create_or_update, endpoint)
    tell(traffic=endpoint.traffic, scoring_uri=endpoint.scoring_uri)
    answer = step(endpoints.invoke, "azure-triton", request_file="tensor.json")
    tell(answer=answer[:90])
    assert json.loads(answer)["outputs"][0]["name"] == "fc6_1"
    step(endpoints.invoke, "azure-triton", request_file="tensor.json", deployment_name="blue")
    logs = step(deployments.get_logs, "blue", "azure-triton", lines=20)
    tell(last_line=logs.splitlines()[-1])
    keys = step(endpoints.get_keys, "azure-triton")
    step(endpoints.begin_regenerate_keys, "azure-triton", key_type="secondary")
    fresh = step(endpoints.get_keys, "azure-triton")
    assert fresh.primary_key == keys.primary_key
    assert fresh.secondary_key != keys.secondary_key
    blue = step(deployments.get, "blue", "azure-triton")
    blue.instance_count, blue.tags = 2, {"size": "two"}
    made = step(deployments.begin_create_or_update, blue)
    tell(count=made.instance_count, tags=made.tags)
    assert (made.instance_count, made.readiness_probe.period) == (2, 1)
    collected = made.data_collector
    tell(collected=sorted(collected.collections), rate=collected.sampling_rate)
    assert all(one.enabled == "true" for one in collected.collections.values())
    assert (collected.rolling_rate.lower(), collected.sampling_rate) == ("hour", 0.5)
    blue = step(deployments.get, "blue", "azure-triton")
    blue.data_collector.collections["model_outputs"].enabled = "false"
    made = step(deployments.begin_create_or_update, blue)
    assert made.data_collector.collections["model_outputs"].enabled == "false"
    blue = step(deployments.get, "blue", "azure-triton")
    blue.data_collector = None
    made = step(deployments.begin_create_or_update, blue)
    assert made.data_collector is None
    tell(listed=[one.name for one in step(deployments.list, "azure-triton")])
    tell(listed=[one.name for one in step(endpoints.list)])
    refused(HttpResponseError, deployments.begin_delete, "blue", "azure-triton")
    endpoint = step(endpoints.get, "azure-triton")
    endpoint.traffic = {"blue": 0}
    step(endpoints.begin_create_or_update, endpoint)
    step(deployments.begin_delete, "blue", "azure-triton")
    step(endpoints.begin_delete, "azure-triton")
    refused(ResourceNotFoundError, endpoints.get, "azure-triton")


def script(ml):
    endpoints, deployments = ml.online_endpoints, ml.online_deployments
    step(
        endpoints.begin_create_or_update,
        ManagedOnlineEndpoint(name="azure-script", auth_mode="aml_token"),
    )
    blue = ManagedOnlineDeployment(
        name="blue",
        endpoint_name="azure-script",
        model=Model(path="scoring-script/model"),
        code_configuration=CodeConfiguration("scoring-script/onlinescoring", "score.py"),
        environment="azureml:score-list:1",
        instance_type="Standard_DS3_v2",
        instance_count=1,
    )
    made = step(deployments.begin_create_or_update, blue)
    tell(state=made.provisioning_state, model=made.model, environment=made.environment)
    endpoint = step(endpoints.get, "azure-script")
    endpoint.traffic = {"blue": 100}
    step(endpoints.begin_create_or_update, endpoint)
    token = step(endpoints.get_keys, "azure-script")
    tell(expires=token.expiry_time_utc)
    answer = step(
        endpoints.invoke, "azure-script", request_file="scoring-script/sample-request.json"
    )
    tell(answer=answer)
    assert LABEL in answer
    blue = step(deployments.get, "blue", "azure-script")
    blue.description = "the same again"
    again = step(deployments.begin_create_or_update, blue)
    assert (again.model, again.description) == (made.model, "the same again")
    step(endpoints.begin_delete, "azure-script")


def large(ml):
    """By blocks; not recorded."""
    recorder.on = False
    Path("large").mkdir()
    with Path("large/weights.pkl").open("wb") as file:
        for _ in range(LARGE // 2**20):
            file.write(os.urandom(2**20))
    made = step(
        ml.models.create_or_update, Model(name="large", path="large", type=AssetTypes.CUSTOM_MODEL)
    )
    tell(model=f"{made.name}:{made.version}")
    again = step(
        ml.models.create_or_update,
        Model(name="large", version="1", path="large", type=AssetTypes.CUSTOM_MODEL),
    )
    assert again.version == "1"


def main():
    ml = client()
    workspace = step(ml.workspaces.get, "my-workspace")
    tell(workspace=workspace.name, location=workspace.location)
    values = [0.5] * (3 * 224 * 224)
    tensor = {"name": "data_0", "shape": [1, 3, 224, 224], "datatype": "FP32", "data": values}
    Path("tensor.json").write_text(json.dumps({"inputs": [tensor]}))
    environments(ml)
    models(ml)
    triton(ml)
    script(ml)
    if target := os.environ.get("SHOAL_RECORD"):
        rows = ",\n".join(json.dumps(row) for row in recorder.found)
        Path(target).write_text(f"[\n{rows}\n]\n")
        tell(recorded=len(recorder.found))
    large(ml)
    print("All of it was done.")


if __name__ == "__main__":
    sys.exit(main())
