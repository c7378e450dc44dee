"""Pure: programs that call an endpoint, with the model's own tensor names and shapes."""

import json
from dataclasses import dataclass
from typing import Any, Final

NUMPY: Final = {
    "BOOL": "bool",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "FP16": "float16",
    "BF16": "float32",  # numpy has none; the client converts
    "FP32": "float32",
    "FP64": "float64",
}
LITERAL_VALUES: Final = 64  # more than this is generated instead of written out
KEY_VARIABLE: Final = "ENDPOINT_KEY"  # of the environment, so that no key lands in a file


@dataclass(frozen=True, slots=True)
class Tensor:
    name: str
    datatype: str
    shape: tuple[int, ...]  # complete, with the batch axis; no axis is -1

    @property
    def count(self) -> int:
        count = 1
        for axis in self.shape:
            count *= axis
        return count


@dataclass(frozen=True, slots=True)
class Target:
    endpoint: str
    scoring_uri: str
    grpc_target: str
    ca_path: str  # empty: whom the caller's machine trusts
    model: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[str, ...]


def tensor(spec: dict[str, Any], max_batch_size: int) -> Tensor:
    """From a registered input: unknown axes become 1, a batch axis of 1 comes first."""
    batch = [1] if max_batch_size > 0 else []
    shape = (*batch, *(axis if axis > 0 else 1 for axis in spec["shape"]))
    return Tensor(name=spec["name"], datatype=spec["datatype"], shape=tuple(shape))


def snippets(target: Target) -> dict[str, str]:
    return {
        "curl": _curl(target),
        "python_http": _python_http(target),
        "python_grpc": _python_grpc(target),
    }


def sample(datatype: str) -> Any:
    return {"BYTES": "text", "BOOL": False}.get(
        datatype, 0.0 if datatype.startswith(("FP", "BF")) else 0
    )


def _curl(target: Target) -> str:
    inputs = [
        {
            "name": item.name,
            "shape": list(item.shape),
            "datatype": item.datatype,
            "data": [sample(item.datatype)] * (item.count if item.count <= LITERAL_VALUES else 0),
        }
        for item in target.inputs
    ]
    body = json.dumps({"inputs": inputs})
    large = {item.name: item for item in target.inputs if item.count > LITERAL_VALUES}
    call = [
        f"curl --cacert {quoted(target.ca_path)} \\" if target.ca_path else "curl \\",
        f'  -H "Authorization: Bearer ${KEY_VARIABLE}" -H "Content-Type: application/json" \\',
    ]
    uri = quoted(f"{target.scoring_uri}v2/models/{target.model}/infer")
    if not large:
        lines = [*call, f"  -d {quoted(body)} \\", f"  {uri}"]
    else:
        # why a program: the values of these tensors would fill pages
        program = ["import json", f"body = json.loads({body!r})"]
        program += [
            f"body['inputs'][{index}]['data'] = [{sample(item.datatype)!r}] * {item.count}"
            for index, item in enumerate(target.inputs)
            if item.name in large
        ]
        program.append("print(json.dumps(body))")
        generate = f"python3 -c {quoted(chr(10).join(program))} |"
        lines = [generate, *call, "  -d @- \\", f"  {uri}"]
    return "\n".join([f"export {KEY_VARIABLE}='<key of {target.endpoint}>'", *lines]) + "\n"


def quoted(text: str) -> str:
    """For a POSIX shell."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def _array(item: Tensor) -> str:
    if item.datatype == "BYTES":
        return f"np.full({list(item.shape)}, b'text', dtype=object)"
    return f"np.zeros({list(item.shape)}, dtype=np.{NUMPY[item.datatype]})"


def _python(target: Target, kind: str, connect: list[str], headers: str) -> str:
    lines = [
        "from os import environ",
        "",
        "import numpy as np",
        f"import tritonclient.{kind} as triton",
        "",
        *connect,
        f"headers = {headers}",
        "inputs = []",
    ]
    for item in target.inputs:
        declared = f"{item.name!r}, {list(item.shape)}, {item.datatype!r}"
        lines += [
            f"tensor = triton.InferInput({declared})",
            f"tensor.set_data_from_numpy({_array(item)})",
            "inputs.append(tensor)",
        ]
    lines += [
        f"result = client.infer({target.model!r}, inputs, headers=headers)",
        *(f"print({name!r}, result.as_numpy({name!r}))" for name in target.outputs),
    ]
    return "\n".join(lines) + "\n"


def _python_http(target: Target) -> str:
    url = target.scoring_uri.partition("://")[2].rstrip("/")
    return _python(
        target,
        "http",
        [
            "client = triton.InferenceServerClient(",
            f"    {url!r},",
            "    ssl=True,",
            *([f"    ssl_options={{'ca_certs': {target.ca_path!r}}},"] if target.ca_path else []),
            ")",
        ],
        f"{{'Authorization': 'Bearer ' + environ[{KEY_VARIABLE!r}]}}",
    )


def _python_grpc(target: Target) -> str:
    return _python(
        target,
        "grpc",
        [
            "client = triton.InferenceServerClient(",
            f"    {target.grpc_target!r},",
            "    ssl=True,",
            *([f"    root_certificates={target.ca_path!r},"] if target.ca_path else []),
            ")",
        ],
        f"{{'authorization': 'Bearer ' + environ[{KEY_VARIABLE!r}], "
        f"'x-shoal-endpoint': {target.endpoint!r}}}",
    )
