"""Scores one picture through an endpoint with the stock Triton client."""

import argparse
from pathlib import Path

import gevent.ssl
import numpy
import prepost
import tritonclient.http as tritonhttpclient

parser = argparse.ArgumentParser()
parser.add_argument("--base_url")
parser.add_argument("--token")
parser.add_argument("--image_path")
args = parser.parse_args()

client = tritonhttpclient.InferenceServerClient(
    url=args.base_url[8:],  # without https://
    ssl=True,
    ssl_context_factory=gevent.ssl._create_default_https_context,
)
headers = {"Authorization": f"Bearer {args.token}"}
print(f"Is server ready - {client.is_server_ready(headers=headers)}")
print(f"Is model ready - {client.is_model_ready('model_1', '1', headers)}")
image = prepost.preprocess(Path(args.image_path).read_bytes())
tensor = tritonhttpclient.InferInput("data_0", image.shape, "FP32")
tensor.set_data_from_numpy(image)
output = tritonhttpclient.InferRequestedOutput("fc6_1")
result = client.infer("model_1", [tensor], outputs=[output], headers=headers)
print(prepost.postprocess(int(numpy.argmax(result.as_numpy("fc6_1")))))
