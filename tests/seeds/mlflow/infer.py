"""The same model by KServe's protocol, and by MLflow's: python infer.py SCORING_URI TOKEN"""

import sys

import gevent.ssl
import httpx
import numpy as np
import tritonclient.http as triton

uri, token = sys.argv[1:]
headers = {"Authorization": f"Bearer {token}"}
client = triton.InferenceServerClient(
    uri.removeprefix("https://"),
    ssl=True,
    ssl_context_factory=gevent.ssl._create_default_https_context,
)
index = triton.InferInput("input-0", [1], "INT64")
index.set_data_from_numpy(np.array([84]))
found = client.infer("peacock-mlflow", [index], headers=dict(headers)).as_numpy("output-0")
said = httpx.post(f"{uri}/invocations", json={"inputs": [84]}, headers=headers).json()
if said["predictions"] != [found[0].decode()]:
    sys.exit(f"KServe says {found}, MLflow's route {said}")
print("both protocols:", found[0].decode())
