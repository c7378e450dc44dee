"""Pure: programs that call an endpoint without Triton's client: requests, fetch, grpcurl."""

import json
from typing import Final

from controlplane.deployments.snippets import KEY_VARIABLE, Target, Tensor, quoted, sample

ITEM_BYTES: Final = {
    "BOOL": 1, "INT8": 1, "UINT8": 1, "INT16": 2, "UINT16": 2, "FP16": 2, "BF16": 2,
    "INT32": 4, "UINT32": 4, "FP32": 4, "INT64": 8, "UINT64": 8, "FP64": 8,
}  # fmt: skip


def json_snippets(target: Target) -> dict[str, str]:
    return {
        "python_requests": _python_requests(target),
        "grpcurl": _grpcurl(target),
        "javascript": _javascript(target),
    }


def _python_requests(target: Target) -> str:
    """With ``requests``, which most have; values are flat lists."""
    lines = ["from os import environ", "", "import requests", "", "inputs = ["]
    lines += [
        f"    {{'name': {item.name!r}, 'shape': {list(item.shape)}, "
        f"'datatype': {item.datatype!r}, 'data': [{sample(item.datatype)!r}] * {item.count}}},"
        for item in target.inputs
    ]
    lines += [
        "]",
        "answer = requests.post(",
        f"    {_infer_url(target)!r},",
        "    json={'inputs': inputs},",
        f"    headers={{'Authorization': 'Bearer ' + environ[{KEY_VARIABLE!r}]}},",
        *([f"    verify={target.ca_path!r},"] if target.ca_path else []),
        "    timeout=60,",
        ")",
        "answer.raise_for_status()",
        "for output in answer.json()['outputs']:",
        "    print(output['name'], output['shape'], output['data'][:10])",
    ]
    return "\n".join(lines) + "\n"


def _javascript(target: Target) -> str:
    """With ``fetch``, as Node and Deno have it; browsers need the certificate in their store."""
    trusted = f"NODE_EXTRA_CA_CERTS={quoted(target.ca_path)} " if target.ca_path else ""
    lines = [
        f"// {trusted}{KEY_VARIABLE}='<key>' node call.mjs",
        "const inputs = [",
    ]
    lines += [f"  {_js_input(item)}," for item in target.inputs]
    lines += [
        "];",
        f"const answer = await fetch({json.dumps(_infer_url(target))}, {{",
        '  method: "POST",',
        "  headers: {",
        f"    Authorization: `Bearer ${{process.env.{KEY_VARIABLE}}}`,",
        '    "Content-Type": "application/json",',
        "  },",
        "  body: JSON.stringify({ inputs }),",
        "});",
        "if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);",
        "const { outputs } = await answer.json();",
        "for (const { name, shape, data } of outputs) console.log(name, shape, data.slice(0, 10));",
    ]
    return "\n".join(lines) + "\n"


def _grpcurl(target: Target) -> str:
    """grpcurl needs to be told the messages: they are written down from Triton's own client."""
    inputs = [
        {"name": item.name, "datatype": item.datatype, "shape": list(item.shape)}
        for item in target.inputs
    ]
    raw = ", ".join(_raw(item) for item in target.inputs)
    prepare = [
        "import base64, json",
        "from google.protobuf.descriptor_pb2 import FileDescriptorSet",
        "from tritonclient.grpc import model_config_pb2, service_pb2",
        "files = FileDescriptorSet()",
        "for part in (model_config_pb2, service_pb2):",
        "    part.DESCRIPTOR.CopyToProto(files.file.add())",
        'open("triton.protoset", "wb").write(files.SerializeToString())',
        f"raw = [{raw}]",
        f"request = {{'model_name': {target.model!r}, 'inputs': {inputs!r}}}",
        "request['raw_input_contents'] = [base64.b64encode(part).decode() for part in raw]",
        'json.dump(request, open("request.json", "w"))',
    ]
    endpoint = quoted(f"x-shoal-endpoint: {target.endpoint}")
    trusted = f"-cacert {quoted(target.ca_path)} " if target.ca_path else ""
    lines = [
        f"export {KEY_VARIABLE}='<key of {target.endpoint}>'",
        f"python3 -c {quoted(chr(10).join(prepare))}",
        f"grpcurl {trusted}-protoset triton.protoset \\",
        f'  -H "authorization: Bearer ${KEY_VARIABLE}" -H {endpoint} \\',
        f"  -d @ {quoted(target.grpc_target)} \\",
        "  inference.GRPCInferenceService/ModelInfer < request.json",
    ]
    return "\n".join(lines) + "\n"


def _raw(item: Tensor) -> str:
    """An expression for the tensor's bytes: zeros, or texts behind their lengths."""
    if item.datatype == "BYTES":
        return f"b'\\x04\\x00\\x00\\x00text' * {item.count}"
    return f"bytes({item.count * ITEM_BYTES[item.datatype]})"


def _infer_url(target: Target) -> str:
    return f"{target.scoring_uri}v2/models/{target.model}/infer"


def _js_input(item: Tensor) -> str:
    head = {"name": item.name, "shape": list(item.shape), "datatype": item.datatype}
    data = f"Array({item.count}).fill({json.dumps(sample(item.datatype))})"
    return f"{{ ...{json.dumps(head)}, data: {data} }}"
