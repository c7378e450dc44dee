"""A stand-in for one runtime replica: HTTP/1 and gRPC, both telling its name.

A program, so that a test can kill it: ``python upstream.py NAME`` prints its ports as JSON.
``POST /v2/models/sleep/infer`` waits ``x-sleep-ms`` milliseconds first; answers say how many wait
so. One whose name begins with "broken" says that it is ready, and hangs up on every inference; one
whose name begins with "flaky" answers every fifth; one whose name begins with "failing" says 503,
and in gRPC UNAVAILABLE.
"""

import asyncio
import itertools
import json
import sys

import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc


class Servicer(service_pb2_grpc.GRPCInferenceServiceServicer):
    def __init__(self, name: str) -> None:
        self.name = name

    async def ServerLive(self, request, context):
        return service_pb2.ServerLiveResponse(live=True)

    async def ServerReady(self, request, context):
        return service_pb2.ServerReadyResponse(ready=True)

    async def ServerMetadata(self, request, context):
        metadata = dict(context.invocation_metadata())
        return service_pb2.ServerMetadataResponse(
            name=self.name, extensions=sorted(key for key in metadata if key == "authorization")
        )

    async def ModelInfer(self, request, context):
        if fails(self.name):
            await context.abort(grpc.StatusCode.UNAVAILABLE, "cannot")
        answer = service_pb2.ModelInferResponse(model_name=self.name, model_version="1")
        for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True):
            output = answer.outputs.add(name="OUT", datatype=tensor.datatype)
            output.shape.extend(tensor.shape)
            answer.raw_output_contents.append(raw)
        return answer

    async def ModelStreamInfer(self, request_iterator, context):
        async for request in request_iterator:
            yield service_pb2.ModelStreamInferResponse(
                infer_response=await self.ModelInfer(request, context)
            )

    async def RepositoryIndex(self, request, context):
        return service_pb2.RepositoryIndexResponse()


inferences = itertools.count(1)
inferred: list[str] = []  # headers of the last inference
answered: list[str] = []  # ids of all inferences
asleep: set[object] = set()


def hangs_up(name: str) -> bool:
    return name.startswith("broken") or (name.startswith("flaky") and next(inferences) % 5 != 0)


def fails(name: str) -> bool:
    return name.startswith("failing")


async def sleep(seconds: float) -> None:
    me = object()
    asleep.add(me)
    try:
        await asyncio.sleep(seconds)
    finally:
        asleep.discard(me)


async def serve_http(name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            headers = {
                line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip()
                for line in head[1:]
                if ":" in line
            }
            body = await read_body(reader, headers)
            if path.endswith("/infer") and hangs_up(name):
                return
            if path.endswith("/infer"):
                inferred[:] = sorted(headers)
            if path.endswith("/infer"):
                answered.append(headers.get("x-request-id", ""))
            if "/sleep/" in path:
                await sleep(int(headers.get("x-sleep-ms", "0")) / 1000)
            content = json.dumps(
                {
                    "replica": name,
                    "method": method,
                    "path": path,
                    "headers": headers,
                    "received": len(body),
                    "asleep": len(asleep),
                    "inferred": inferred,
                    "answered": len(answered),
                }
            ).encode()
            status = (
                b"503 Service Unavailable" if path.endswith("/infer") and fails(name) else b"200 OK"
            )
            writer.write(
                b"HTTP/1.1 "
                + status
                + b"\r\nContent-Type: application/json\r\nContent-Length: "
                + str(len(content)).encode()
                + b"\r\n\r\n"
                + content
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the other end is done
    finally:
        writer.close()


async def read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int((await reader.readline()).strip(), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
        return body
    return await reader.readexactly(int(headers.get("content-length", "0")))


async def main(name: str) -> None:
    http = await asyncio.start_server(
        lambda reader, writer: serve_http(name, reader, writer), "127.0.0.1", 0, limit=1 << 20
    )
    server = grpc.aio.server(options=[("grpc.max_receive_message_length", -1)])
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(Servicer(name), server)
    grpc_port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    ports = {"http_port": http.sockets[0].getsockname()[1], "grpc_port": grpc_port}
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
