"""``triton_python_backend_utils`` in a real server: misuse, senders, sequences and calls."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tritonclient.grpc as grpc
import tritonclient.http as http
from tritonclient.utils import InferenceServerException

from tests.support import python_models as pm
from tests.support.runtime_process import Runtime, runtime


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("python-api") / "models"
    text = "OUTPUT0:STRING:-1"
    pm.add(root, "probe", pm.PROBE, inputs="INPUT0:STRING:1", outputs=text)
    pm.add(root, "sender", pm.SENDER)
    pm.add(root, "async_ready", pm.ASYNC_READY)
    for name in ("bf16", "calls_bf16"):
        pm.add(root, name, pm.HANDS_ON, inputs="X:BF16:-1", outputs="X:BF16:-1")
    pm.add(root, "sums", pm.SUMS, config=_sequence())
    pm.add(root, "iterative", pm.ITERATIVE, config=_sequence(" iterative_sequence: true"))
    pm.add(root, "caller", pm.SEQUENCE_CALLER, outputs=text)
    pm.add(root, "no_execute", "class TritonPythonModel:\n    pass\n")
    return root


def _sequence(more: str = "") -> str:
    return f"sequence_batching {{ max_sequence_idle_microseconds: 5000000{more} }}\n"


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Runtime]:
    with runtime(models, "--model-control-mode=explicit", "--load-model=*") as found:
        yield found


@pytest.fixture
def client(server: Runtime) -> Iterator[http.InferenceServerClient]:
    with http.InferenceServerClient(server.http, network_timeout=60) as found:
        yield found


def tensor(array: np.ndarray) -> Any:
    made = http.InferInput("INPUT0", list(array.shape), "BYTES" if array.dtype == "O" else "FP32")
    made.set_data_from_numpy(array)
    return made


def asked(client: http.InferenceServerClient, model: str, *values: float, **more: Any) -> Any:
    given = tensor(np.array(values, np.float32))
    return client.infer(model, [given], **more).as_numpy("OUTPUT0")


REQUEST = "pb.InferenceRequest(model_name='m', requested_output_names=['a'], inputs=[], {})"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # requests
        (
            "pb.InferenceRequest(inputs=[None], model_name='m', requested_output_names=[])",
            "TritonModelException: Input tensor for request with id '' and model name 'm' should "
            "not be empty.",
        ),
        (
            "pb.InferenceRequest(inputs=[], model_name='m', requested_output_names=[''])",
            "TritonModelException: Requested output name for request with id '' and model name "
            "'m' should not be empty.",
        ),
        ("pb.InferenceRequest(inputs=None, model_name='m', requested_output_names=[])", TypeError),
        ("pb.InferenceRequest(inputs=[], model_name=None, requested_output_names=[])", TypeError),
        ("pb.InferenceRequest(inputs=[], model_name='m')", TypeError),
        ("pb.InferenceRequest(inputs=[5], model_name='m', requested_output_names=[])", TypeError),
        (REQUEST.format("correlation_id=None"), TypeError),
        (REQUEST.format("request_id=None"), TypeError),
        (REQUEST.format("model_version=None"), TypeError),
        (REQUEST.format("flags=None"), TypeError),
        (REQUEST.format("trace=None"), TypeError),
        (
            REQUEST.format("parameters={'a': 1.5}"),
            "TritonModelException: Expect parameters values to have type bool/int/str, found type "
            "<class 'float'>",
        ),
        (
            REQUEST.format("parameters={1: 1}"),
            "TritonModelException: Expect parameters keys to have type str, found type "
            "<class 'int'>",
        ),
        (
            REQUEST.format("parameters={'a': 1, 'b': 'c', 'd': True}") + ".parameters()",
            repr('{"a": 1, "b": "c", "d": true}'),
        ),
        (REQUEST.format("correlation_id='x'") + ".correlation_id()", "'x'"),
        (REQUEST.format("") + ".is_cancelled()", "False"),
        ("r.requested_output_names()", "{'OUTPUT0'}"),
        ("hasattr(r, 'model_name')", "False"),
        # responses and errors
        (
            "pb.InferenceResponse([None])",
            "TritonModelException: Output tensor for inference response should not be empty.",
        ),
        ("pb.InferenceResponse(None)", TypeError),
        ("pb.InferenceResponse([], error='text')", TypeError),
        ("pb.InferenceResponse([]).output_tensors()", "[]"),
        ("pb.TritonError(5)", TypeError),
        ("pb.TritonError('m', 'x')", TypeError),
        ("int(pb.TritonError('m', pb.TritonError.CANCELLED).code())", "7"),
        ("int(pb.TritonError('m').code())", "1"),
        # tensors
        ("pb.Tensor(None, np.zeros(1))", TypeError),
        ("pb.Tensor('a', [1])", TypeError),
        (
            "pb.Tensor('', np.zeros(1))",
            "TritonModelException: Tensor name cannot be an empty string.",
        ),
        (
            "pb.Tensor('a', np.zeros(1, 'c8'))",
            "TritonModelException: NumPy dtype is not supported.",
        ),
        ("(lambda x: pb.Tensor('a', x).as_numpy() is x)(np.zeros(3))", "True"),
        ("pb.Tensor('a', np.zeros((2, 3)).T).as_numpy().flags.c_contiguous", "True"),
        (
            "pb.Tensor.from_dlpack('a', None)",
            "TritonModelException: Provided tensor is not supported. Tensor must be a DLPack "
            "capsule         or have `__dlpack__` and `__dlpack_device__` attributes",
        ),
        (
            "pb.Tensor.from_dlpack('', np.zeros(2))",
            "TritonModelException: Tensor name cannot be an empty string.",
        ),
        (
            "pb.Tensor.from_dlpack('a', np.zeros((2, 3)).T)",
            "TritonModelException: DLPack tensor is not contiguous. Only contiguous DLPack tensors "
            "that are stored in C-Order are supported.",
        ),
        (
            "r.inputs()[0].to_dlpack()",
            "TritonModelException: DLPack does not have support for string tensors.",
        ),
        ("np.from_dlpack(pb.Tensor('a', np.arange(3))).tolist()", "[0, 1, 2]"),
        # the rest
        ("pb.Logger.log('x', 1)", TypeError),
        ("pb.Logger.log('x', None)", TypeError),
        ("pb.Logger.log_info(None)", TypeError),
        ("pb.Logger.log('x', pb.Logger.VERBOSE)", "None"),
        ("pb.serialize_byte_tensor(np.array([b'ab', 'c'], object))", repr(b"\2\0\0\0ab\1\0\0\0c")),
        ("pb.serialize_byte_tensor(np.array([], object))", "()"),
        ("pb.serialize_byte_tensor(np.array([1]))", "None"),
        ("pb.deserialize_bytes_tensor(b'\\2\\0\\0\\0ab').tolist()", "[b'ab']"),
        ("pb.triton_to_numpy_type(99)", "None"),
        ("[pb.numpy_to_triton_type(t) for t in (np.bytes_, np.float32, float)]", "[13, 11, None]"),
        ("pb.triton_string_to_numpy('TYPE_BOOL')", "<class 'bool'>"),
        ("pb.PreferredMemory(None)", TypeError),
        ("pb.is_model_ready('sums'), pb.is_model_ready('nope')", "(True, False)"),
        ("pb.get_input_tensor_by_name(r, 'nope')", "None"),
    ],
)
def test_misuse_is_told_as_triton_tells_it(
    client: http.InferenceServerClient, code: str, expected: str | type
) -> None:
    given = tensor(np.array([code.encode()], object))
    found = client.infer("probe", [given]).as_numpy("OUTPUT0")[0].decode()
    if isinstance(expected, str):
        assert found == expected
    else:
        assert found.startswith(f"{expected.__name__}: ")


def test_senders_of_ordinary_models_answer_once(client: http.InferenceServerClient) -> None:
    for what in (0, 1, 4, 9, 10):
        assert asked(client, "sender", what).tolist() == [what]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (2, "Non-decoupled model cannot send complete final before sending a response."),
        (5, "Expected a None object in the execute function return list for reschduled request"),
        (6, "Unable to send response. Unsupported flag provided."),
        (7, "incompatible function arguments"),
    ],
)
def test_senders_misused_say_so(client: http.InferenceServerClient, what: int, words: str) -> None:
    with pytest.raises(InferenceServerException, match=words):
        asked(client, "sender", what)
    assert asked(client, "sender", 0).tolist() == [0]


def test_coroutines_tell_their_readiness_and_answer_late(
    client: http.InferenceServerClient,
) -> None:
    for value in (1, 2):
        assert client.is_model_ready("async_ready")
        assert asked(client, "async_ready", value).tolist() == [value]


@pytest.mark.parametrize("model", ["bf16", "calls_bf16"])
def test_bf16_is_handed_on(client: http.InferenceServerClient, model: str) -> None:
    given = np.array([1, -2.5, 3], ml_dtypes.bfloat16)
    made = http.InferInput("X", [3], "BF16")
    made.set_data_from_numpy(given)
    result = client.infer(model, [made])
    assert result.get_output("X")["datatype"] == "BF16"
    assert result.as_numpy("X").tolist() == given.tolist()


def test_an_output_of_another_type_is_labelled_with_it(client: http.InferenceServerClient) -> None:
    found = asked(client, "sender", 8)
    assert found.dtype == np.int32
    assert found.tolist() == [8]


def test_sequences_reach_the_model_with_id_and_flags(client: http.InferenceServerClient) -> None:
    for correlation_id in (5, "text"):
        part = {"sequence_id": correlation_id}
        assert asked(client, "sums", 1, sequence_start=True, **part).tolist() == [1, 1]
        assert asked(client, "sums", 2, **part).tolist() == [3, 0]
        assert asked(client, "sums", 3, sequence_end=True, **part).tolist() == [6, 2]


def test_a_request_comes_round_until_it_is_answered(client: http.InferenceServerClient) -> None:
    assert asked(client, "iterative", 1).tolist() == [3]


def test_models_call_others_within_sequences(client: http.InferenceServerClient) -> None:
    given = tensor(np.zeros(1, np.float32))
    found = client.infer("caller", [given]).as_numpy("OUTPUT0").tolist()
    *sums, sender, early = [item.decode() for item in found]
    assert sums[:4] == ["[1.0, 1.0]", "[3.0, 0.0]", "[6.0, 2.0]", "[5.0, 3.0]"]
    assert "must specify a non-zero or non-empty correlation ID" in sums[4]
    assert sums[5] == "[3.0]"
    assert sender == (
        "Unable to send response. Response sender has no reference to the decoupled state of the "
        "model."
    )
    assert early == "BLS is only supported during the 'execute' function."


def test_a_model_without_execute_says_so_when_called(client: http.InferenceServerClient) -> None:
    with pytest.raises(InferenceServerException, match="does not implement `execute` method"):
        asked(client, "no_execute", 1)


def test_phases_of_an_execution_take_time(
    client: http.InferenceServerClient, server: Runtime
) -> None:
    asked(client, "sender", 0)
    (stats,) = server.json("v2/models/sender/stats")[1]["model_stats"]
    inference = stats["inference_stats"]
    for phase in ("compute_input", "compute_infer", "compute_output"):
        assert inference[phase]["ns"] > 0
    with grpc.InferenceServerClient(server.grpc) as other:
        (usage,) = other.get_inference_statistics("sender").model_stats[0].memory_usage
    assert usage.type == "CPU"
    assert usage.byte_size > 1 << 20
    (shown,) = stats["memory_usage"]
    assert (shown["type"], shown["id"]) == ("CPU", 0)
    assert shown["byte_size"] > 1 << 20
