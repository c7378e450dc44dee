"""The client beside an attack: one small request after another, over HTTP and gRPC in turn.

A program of its own, so that attackers take none of its time but what the machine has to share.
Each request is a line: when it began on the monotonic clock, how long it took, and how it ended.
"""

import http.client
import json
import sys
import threading
from time import monotonic

import grpc
import numpy as np
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

PACE_S = 0.003
_PACE = threading.Event()  # never set: only its timed wait is used
VALUES = [1.0, 2.0, 3.0]


def main(http_port: int, grpc_port: int) -> None:
    plain = http.client.HTTPConnection("127.0.0.1", http_port, timeout=20)
    stub = service_pb2_grpc.GRPCInferenceServiceStub(
        grpc.insecure_channel(f"127.0.0.1:{grpc_port}")
    )
    given = {"name": "INPUT0", "datatype": "FP32", "shape": [3], "data": VALUES}
    body = json.dumps({"inputs": [given]})
    message = pb.ModelInferRequest(model_name="echo")
    message.inputs.add(name="INPUT0", datatype="FP32", shape=[3])
    message.raw_input_contents.append(np.array(VALUES, np.float32).tobytes())

    def over_http() -> bool:
        # why no reconnecting: whose connection is lost was not served
        plain.request("POST", "/v2/models/echo/infer", body)
        answer = plain.getresponse()
        found = json.loads(answer.read())
        return answer.status == 200 and found["outputs"][0]["data"] == VALUES

    def over_grpc() -> bool:
        answer = stub.ModelInfer(message, timeout=20)
        return np.frombuffer(answer.raw_output_contents[0], np.float32).tolist() == VALUES

    while True:
        for ask in (over_http, over_grpc):
            began = monotonic()
            try:
                outcome = "ok" if ask() else "wrong"
            except (OSError, http.client.HTTPException, grpc.RpcError, ValueError) as error:
                outcome = repr(error).replace("\n", " ")
                plain.close()
            sys.stdout.write(f"{began} {monotonic() - began} {outcome}\n")
            sys.stdout.flush()
            _PACE.wait(PACE_S)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
