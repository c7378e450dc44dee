"""The first seed's tab "Python": the same calls in the same order.

Run by ``python -m tests.seeds``, which lets azure.ai.ml and azure.identity mean Shoal's SDK.
"""

import random
import sys
from pathlib import Path

import gevent.ssl
import numpy as np
import tritonclient.http as tritonhttpclient
from azure.ai.ml import MLClient
from azure.ai.ml.entities import ManagedOnlineDeployment, ManagedOnlineEndpoint, Model
from azure.identity import DefaultAzureCredential

sys.path.insert(0, "single-model")
import prepost

subscription_id = "<SUBSCRIPTION_ID>"
resource_group = "<RESOURCE_GROUP>"
workspace_name = "<AML_WORKSPACE_NAME>"
endpoint_name = f"endpoint-{random.randint(0, 10000)}"
ml_client = MLClient(DefaultAzureCredential(), subscription_id, resource_group, workspace_name)

endpoint = ManagedOnlineEndpoint(name=endpoint_name, auth_mode="key")
model_name = "densenet-onnx-model-sdk"
model_version = 1
deployment = ManagedOnlineDeployment(
    name="blue",
    endpoint_name=endpoint_name,
    model=Model(
        name=model_name, version=model_version, path="./single-model/models", type="triton_model"
    ),
    instance_type="Standard_NC6s_v3",
    instance_count=1,
)

# As the document has it: the pollers stand for their results.
endpoint = ml_client.online_endpoints.begin_create_or_update(endpoint)
ml_client.online_deployments.begin_create_or_update(deployment)
endpoint.traffic = {"blue": 100}
ml_client.online_endpoints.begin_create_or_update(endpoint).result()

endpoint = ml_client.online_endpoints.get(endpoint_name)
scoring_uri = endpoint.scoring_uri
keys = ml_client.online_endpoints.list_keys(endpoint_name)
auth_key = keys.primary_key

url = scoring_uri[8:]
triton_client = tritonhttpclient.InferenceServerClient(
    url=url, ssl=True, ssl_context_factory=gevent.ssl._create_default_https_context
)
headers = {}
headers["Authorization"] = f"Bearer {auth_key}"
health_ctx = triton_client.is_server_ready(headers=headers)
print(f"Is server ready - {health_ctx}")
status_ctx = triton_client.is_model_ready("model_1", "1", headers)
print(f"Is model ready - {status_ctx}")
img_data = prepost.preprocess(Path("single-model/data/peacock.png").read_bytes())
input = tritonhttpclient.InferInput("data_0", img_data.shape, "FP32")
input.set_data_from_numpy(img_data)
output = tritonhttpclient.InferRequestedOutput("fc6_1")
result = triton_client.infer("model_1", [input], outputs=[output], headers=headers)
print(prepost.postprocess(int(np.argmax(result.as_numpy("fc6_1")))))

ml_client.online_endpoints.begin_delete(name=endpoint_name).result()
ml_client.models.archive(name=model_name, version=model_version)
