"""A repository of ensembles and what they are made of, for tests with a real runtime."""

from pathlib import Path

from onnx import helper

from tests.support import onnx_models as om


def vector(kind: str, name: str, dims: str = "[16]", extra: str = "") -> str:
    return f'{kind} {{ name: "{name}" data_type: TYPE_INT32 dims: {dims} {extra} }}\n'


def step(model: str, inputs: dict[str, str], outputs: dict[str, str], version: int = -1) -> str:
    pairs = [f'input_map {{ key: "{k}" value: "{v}" }}' for k, v in inputs.items()]
    pairs += [f'output_map {{ key: "{k}" value: "{v}" }}' for k, v in outputs.items()]
    return f'step {{ model_name: "{model}" model_version: {version} {" ".join(pairs)} }}\n'


def save_ensemble(root: Path, name: str, tensors: str, steps: str, extra: str = "") -> None:
    batch = "" if "max_batch_size" in extra else "max_batch_size: 8\n"
    text = f'platform: "ensemble"\n{batch}{tensors}ensemble_scheduling {{ {steps} }}\n{extra}'
    (root / name / "1").mkdir(parents=True, exist_ok=True)
    (root / name / "config.pbtxt").write_text(text)


PAIR_IN = vector("input", "INPUT0") + vector("input", "INPUT1")
PAIR_OUT = vector("output", "OUTPUT0") + vector("output", "OUTPUT1")
BOTH_IN = {"INPUT0": "INPUT0", "INPUT1": "INPUT1"}
# sum and difference, and of those again: 2a and 2b
TWICE = step("simple", BOTH_IN, {"OUTPUT0": "S", "OUTPUT1": "D"}) + step(
    "simple", {"INPUT0": "S", "INPUT1": "D"}, {"OUTPUT0": "OUTPUT0", "OUTPUT1": "OUTPUT1"}
)
BATCHING = "max_batch_size: 8\ndynamic_batching {}\n"


def save_repository(root: Path) -> None:
    om.save(root, "simple", om.add_sub(), BATCHING + "version_policy { all {} }", version=1)
    om.save(root, "simple", om.add_sub(), version=3)
    flat = om.identity(om.INT32, "N", 16)
    om.save(root, "flat", flat, "max_batch_size: 0\n")
    fails = om.graph(
        [helper.make_node("Gather", ["x", "far"], ["y"], axis=1)],
        [om.tensor("x", om.INT32, "N", 16)],
        [om.tensor("y", om.INT32, "N", 16)],
    )
    # no row has a column 99: it fails when it runs, whatever it is given
    fails.initializer.append(helper.make_tensor("far", 7, [16], [99] * 16))
    om.save(root, "fails", fails, "max_batch_size: 8\n")
    save_ensemble(root, "twice", PAIR_IN + PAIR_OUT, TWICE)
    sides = step("simple", BOTH_IN, {"OUTPUT0": "OUTPUT0"}, version=1) + step(
        "simple", BOTH_IN, {"OUTPUT1": "OUTPUT1"}, version=3
    )
    save_ensemble(root, "sides", PAIR_IN + PAIR_OUT, sides)
    diamond = (
        step("simple", BOTH_IN, {"OUTPUT0": "S", "OUTPUT1": "D"})
        + step("flat", {"x": "S"}, {"y": "L"})
        + step("flat", {"x": "D"}, {"y": "R"})
        + step("simple", {"INPUT0": "L", "INPUT1": "R"}, {"OUTPUT0": "OUTPUT0"})
    )
    save_ensemble(root, "diamond", PAIR_IN + vector("output", "OUTPUT0"), diamond)
    nested = step("twice", BOTH_IN, {"OUTPUT0": "A", "OUTPUT1": "B"}) + step(
        "twice", {"INPUT0": "A", "INPUT1": "B"}, {"OUTPUT0": "OUTPUT0", "OUTPUT1": "OUTPUT1"}
    )
    save_ensemble(root, "nested", PAIR_IN + PAIR_OUT, nested)
    broken = step("simple", BOTH_IN, {"OUTPUT0": "S"}) + step("fails", {"x": "S"}, {"y": "OUTPUT0"})
    save_ensemble(root, "broken", PAIR_IN + vector("output", "OUTPUT0"), broken)
    save_ensemble(root, "remembered", PAIR_IN + PAIR_OUT, TWICE, "response_cache { enable: true }")
    om.save(root, "cached", om.add_sub(), BATCHING + "response_cache { enable: true }")
    for name, text in (("repeat", 'backend: "repeat"'), ("square", 'backend: "square"')):
        (root / name / "1").mkdir(parents=True)
        (root / name / "config.pbtxt").write_text(text + DECOUPLED[name])
    one = "[1]"
    save_ensemble(
        root,
        "stream",
        vector("input", "IN", one) + vector("output", "OUT", one),
        step("square", {"IN": "IN"}, {"OUT": "MID"}) + step("pass", {"x": "MID"}, {"y": "OUT"}),
        "max_batch_size: 0",
    )
    om.save(root, "pass", om.identity(om.INT32, 1))


_CPU = "instance_group { count: 1 kind: KIND_CPU }"
DECOUPLED = {
    "repeat": vector("input", "IN", "[-1]")
    + 'input { name: "DELAY" data_type: TYPE_UINT32 dims: [-1] }'
    + 'input { name: "WAIT" data_type: TYPE_UINT32 dims: [1] }'
    + vector("output", "OUT", "[1]")
    + 'output { name: "IDX" data_type: TYPE_UINT32 dims: [1] }'
    + "model_transaction_policy { decoupled: true }"
    + _CPU,
    "square": vector("input", "IN", "[1]")
    + vector("output", "OUT", "[1]")
    + "model_transaction_policy { decoupled: true }"
    + _CPU,
}
