"""However a configuration is written, it is judged as what the runtime makes of it."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tritonclient.grpc import model_config_pb2

from worker_runtime.core.loading import LoadingRules, ModelPlan, check_plan, read_plan
from worker_runtime.errors import ConfigInvalid, LoadFailed
from worker_runtime.inspection.repository import inspect_repository
from worker_runtime.repository.code.verdict import code_in_config, code_in_text
from worker_runtime.repository.layout import ModelDirectory, read_model
from worker_runtime.repository.pbtxt import parse, render
from worker_runtime.types.code import AllowedCode
from worker_runtime.types.instances import Machine

ALL = LoadingRules(Machine(cores=2))
NONE = LoadingRules(Machine(cores=2), code=AllowedCode(frozenset()))
NAMES = ("", "python", "onnxruntime", "identity", "pytorch", "openvino", "vllm", "fil")
KEYS = (
    "EXECUTION_ENV_PATH", "CPU_EXTENSION_PATH", "session.x", "session.disable_prepacking",
    "note", "execution_env_path", "trt_extra_plugin_lib_paths",
)  # fmt: skip
FILES = ("", "model.py", "w.bin", "model.onnx", "x.so", "é\n\"'\\.so", "1/a b")
TEXT = st.one_of(st.sampled_from(FILES), st.text(max_size=8))


def planned(directory: ModelDirectory, rules: LoadingRules) -> ModelPlan:
    """As it is done before anything of the model is opened."""
    plan = read_plan(directory, rules)
    check_plan(plan, rules)
    return plan


@st.composite
def configs(draw: st.DrawFn) -> Any:
    """A configuration that may name code in any of the places where it can."""
    config = model_config_pb2.ModelConfig()
    config.backend = draw(st.sampled_from(NAMES))
    config.platform = draw(st.sampled_from(("", "", "ensemble", "onnxruntime_onnx", "torch_aoti")))
    config.runtime = draw(st.sampled_from(("", "", "model.py", "libx.so", "libtriton_fil.so")))
    config.default_model_filename = draw(st.sampled_from(FILES))
    config.max_batch_size = draw(st.integers(0, 9))
    for name in draw(st.lists(st.sampled_from(("INPUT0", "INPUT1")), unique=True)):
        config.input.add(
            name=name, data_type=11, dims=draw(st.lists(st.integers(1, 9), min_size=1))
        )
    for key, value in draw(st.dictionaries(st.sampled_from(KEYS), TEXT)).items():
        config.parameters[key].string_value = value
    for key, value in draw(st.dictionaries(st.just("7.5"), TEXT)).items():
        config.cc_model_filenames[key] = value
    config.model_operations.op_library_filename.extend(draw(st.lists(TEXT, max_size=2)))
    for name in draw(st.lists(st.sampled_from(("checksum", "evil")), max_size=1)):
        config.model_repository_agents.agents.add(name=name)
    accelerators = config.optimization.execution_accelerators
    for key in draw(st.lists(st.sampled_from(KEYS), max_size=1)):
        accelerators.gpu_execution_accelerator.add(name="tensorrt").parameters[key] = draw(TEXT)
    return config


class Writer:
    """Writes a message as text in one of the many ways in which it can be written."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def message(self, message: Any) -> str:
        lines = [
            line for field, value in message.ListFields() for line in self._field(field, value)
        ]
        return "".join(self._gap() + line for line in self._moved(message, lines)) + self._gap()

    def _moved(self, message: Any, lines: list[str]) -> list[str]:
        """In another order, as long as lists keep theirs."""
        several = any(field.is_repeated and not _is_map(field) for field, _ in message.ListFields())
        return lines if several else self._draw(st.permutations(lines))

    def _field(self, field: Any, value: Any) -> list[str]:
        if _is_map(field):
            return [self._entry(field, key, value[key]) for key in value]
        if not field.is_repeated:
            return [self._one(field.name, field, value)]
        if field.message_type is None and self._flip():
            between = self._gap() + "," + self._gap()
            return [
                f"{field.name}:{self._gap()}[{between.join(self._value(field, v) for v in value)}]"
            ]
        return [self._one(field.name, field, item) for item in value]

    def _entry(self, field: Any, key: Any, value: Any) -> str:
        kinds = field.message_type.fields_by_name
        parts = [self._one("key", kinds["key"], key), self._one("value", kinds["value"], value)]
        return f"{field.name} {{{''.join(self._draw(st.permutations(parts)))}}}" + self._end()

    def _one(self, name: str, field: Any, value: Any) -> str:
        if field.message_type is not None:
            colon = self._draw(st.sampled_from(("", ":", " : ")))
            start, end = self._draw(st.sampled_from(("{}", "<>")))
            return f"{name}{colon}{self._gap()}{start}{self.message(value)}{end}" + self._end()
        return f"{name}{self._gap()}:{self._gap()}{self._value(field, value)}" + self._end()

    def _value(self, field: Any, value: Any) -> str:
        if field.cpp_type == field.CPPTYPE_STRING:
            return self._string(value)
        if field.enum_type is not None and self._flip():
            return str(field.enum_type.values_by_number[value].name)
        if field.cpp_type == field.CPPTYPE_BOOL:
            return "true" if value else "false"
        return hex(value) if isinstance(value, int) and value > 0 and self._flip() else str(value)

    def _string(self, text: str) -> str:
        """In pieces, quotes of both kinds, and escapes of every kind."""
        cut = self._draw(st.integers(0, len(text)))
        pieces = [text[:cut], text[cut:]] if self._flip() else [text]
        return self._gap().join(self._quoted(piece) for piece in pieces)

    def _quoted(self, text: str) -> str:
        quote = self._draw(st.sampled_from("\"'"))
        return quote + "".join(self._character(item, quote) for item in text) + quote

    def _character(self, item: str, quote: str) -> str:
        number = ord(item)
        ways = ["".join(f"\\{byte:03o}" for byte in item.encode())]
        ways.append("".join(f"\\x{byte:02x}" for byte in item.encode()))
        if item.isprintable() and item not in ("\\", quote):
            ways += [item, item, item]
        if item.isalnum():  # Python reads an escaped quote as a quote
            ways.append(f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}")
        return self._draw(st.sampled_from(ways))

    def _gap(self) -> str:
        return self._draw(st.sampled_from((" ", "\n", "\t", "  ", ' # "python\n', " # }\n")))

    def _end(self) -> str:
        return self._draw(st.sampled_from((" ", ";", ",", "\n", " ;\n")))

    def _flip(self) -> bool:
        return self._draw(st.booleans())


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


@settings(
    max_examples=100,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # to shrink such texts takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_spelling_changes_no_verdict_and_the_runtime_agrees(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    config = data.draw(configs())
    text = Writer(data.draw).message(config)
    assert parse(text) == config, text
    name, files = data.draw(st.sampled_from(("m", "evil.python", "m.vllm"))), ["1/model.onnx"]
    found = code_in_text(name, text, files)
    assert found == code_in_text(name, render(config), files)

    folder = tmp_path_factory.mktemp("models") / name
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.onnx").write_bytes(b"")
    (folder / "config.pbtxt").write_text(text)
    directory = read_model(folder)
    try:
        plan = planned(directory, ALL)
    except ConfigInvalid:  # it is used by no runtime
        with pytest.raises((ConfigInvalid, LoadFailed)):
            planned(directory, NONE)
        return
    assert found == code_in_config(plan.config, name)
    if found:
        with pytest.raises(LoadFailed, match="--allow-code"):
            planned(directory, NONE)
    else:
        assert planned(directory, NONE).config == plan.config


@pytest.mark.parametrize(
    "text",
    [
        'backend: "identity" backend: "python"',
        'runtime: "" runtime: "model.py"',
        'backend: "identity" [inference.x]: "python"',
        'backend: "identity" [type.googleapis.com/x] { }',
        'backend: "\\ud800python"',
        'backend: "python',
        'backend: "identity\x00"',
    ],
)
def test_what_parsers_might_read_differently_waits(text: str) -> None:
    assert code_in_text("m", text, ["1/x"]) != []


@pytest.mark.parametrize("mark", ["\r", "\r\n", "\n", "\x0b", "\x0c", "\x85", "\u2028"])
def test_a_line_ends_in_the_same_place_for_gate_and_runtime(tmp_path: Path, mark: str) -> None:
    """Python's text files end a line at a lone CR, and a comment with it; protobuf's do not."""
    text = f'backend: "identity" #{mark}runtime: "model.py"\n'
    folder = tmp_path / "m"
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "w.bin").write_bytes(b"\1")
    (folder / "config.pbtxt").write_bytes(text.encode())
    told = {reason["kind"] for reason in inspect_repository(tmp_path)["models"][0]["code"]}
    assert told == ({"python"} if "\n" in mark else set())
    assert read_plan(read_model(folder), ALL).config.runtime == ("model.py" if told else "")
