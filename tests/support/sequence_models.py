"""Small ONNX models that batch sequences, for tests."""

from pathlib import Path

from onnx import GraphProto, TensorProto, helper

from tests.support import onnx_models as om

INT64, UINT64 = TensorProto.INT64, TensorProto.UINT64
_INT32_FLAG = "int32_false_true: [ 0, 1 ]"


def controls(corrid: str = "TYPE_UINT64") -> str:
    """START, END and READY as INT32, CORRID as ``corrid``."""
    flags = "".join(
        f'control_input {{ name: "{name}" control {{ kind: CONTROL_SEQUENCE_{name} '
        f"{_INT32_FLAG} }} }}\n"
        for name in ("START", "END", "READY")
    )
    return flags + (
        'control_input { name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID '
        f"data_type: {corrid} }} }}\n"
    )


def told(corrid: int = UINT64, *, batched: bool = True) -> GraphProto:
    """OUTPUT = INPUT + START + END * CORRID; SEEN is READY."""
    lead = ("N",) if batched else ()
    kinds = {"INPUT": om.INT32, "START": om.INT32, "END": om.INT32, "READY": om.INT32}
    inputs = [om.tensor(name, kind, *lead, 1) for name, kind in kinds.items()]
    return om.graph(
        [
            helper.make_node("Cast", ["CORRID"], ["id"], to=om.INT32),
            helper.make_node("Mul", ["END", "id"], ["last"]),
            helper.make_node("Add", ["INPUT", "START"], ["first"]),
            helper.make_node("Add", ["first", "last"], ["OUTPUT"]),
            helper.make_node("Identity", ["READY"], ["SEEN"]),
        ],
        [*inputs, om.tensor("CORRID", corrid, *lead, 1)],
        [om.tensor("OUTPUT", om.INT32, *lead, 1), om.tensor("SEEN", om.INT32, *lead, 1)],
    )


def total(*, batched: bool = True) -> GraphProto:
    """TOTAL and STATE_OUT are INPUT + STATE_IN."""
    lead = ("N",) if batched else ()
    return om.graph(
        [
            helper.make_node("Add", ["INPUT", "STATE_IN"], ["TOTAL"]),
            helper.make_node("Identity", ["TOTAL"], ["STATE_OUT"]),
        ],
        [om.tensor("INPUT", om.INT32, *lead, 1), om.tensor("STATE_IN", om.INT32, *lead, 1)],
        [om.tensor("TOTAL", om.INT32, *lead, 1), om.tensor("STATE_OUT", om.INT32, *lead, 1)],
    )


def growing() -> GraphProto:
    """STATE_OUT is STATE_IN with INPUT behind it; LENGTH is how long it is."""
    return om.graph(
        [
            helper.make_node("Concat", ["STATE_IN", "INPUT"], ["STATE_OUT"], axis=1),
            helper.make_node("Shape", ["STATE_OUT"], ["shape"], start=1),
            helper.make_node("Sub", ["INPUT", "INPUT"], ["zero"]),
            helper.make_node("Cast", ["shape"], ["length"], to=om.INT32),
            helper.make_node("Add", ["zero", "length"], ["LENGTH"]),
        ],
        [om.tensor("INPUT", om.INT32, "N", 1), om.tensor("STATE_IN", om.INT32, "N", "L")],
        [om.tensor("LENGTH", om.INT32, "N", 1), om.tensor("STATE_OUT", om.INT32, "N", None)],
    )


def name_back() -> GraphProto:
    """NAME is the correlation id, a text."""
    return om.graph(
        [
            helper.make_node("Identity", ["CORRID"], ["NAME"]),
            helper.make_node("Identity", ["INPUT"], ["OUTPUT"]),
        ],
        [om.tensor("INPUT", om.INT32, "N", 1), om.tensor("CORRID", om.STRING, "N", 1)],
        [om.tensor("NAME", om.STRING, "N", 1), om.tensor("OUTPUT", om.INT32, "N", 1)],
    )


STATE = 'state { input_name: "STATE_IN" output_name: "STATE_OUT" data_type: TYPE_INT32 dims: [ 1 ]'
ONE = "instance_group { count: 1 kind: KIND_CPU }\n"


def repository(root: Path) -> Path:
    """Every model of this module, in both strategies."""
    idle = "max_sequence_idle_microseconds: 5000000\n"
    for strategy in ("direct", "oldest"):
        choice = "oldest { max_candidate_sequences: 4 }" if strategy == "oldest" else "direct { }"
        batching = f"sequence_batching {{ {choice} {idle} {controls()} }}"
        om.save(root, f"told_{strategy}", told(), f"max_batch_size: 4 {ONE} {batching}")
        batching = f"sequence_batching {{ {choice} {idle} {STATE} }} }}"
        om.save(root, f"total_{strategy}", total(), f"max_batch_size: 4 {ONE} {batching}")
        growing_state = STATE.replace("[ 1 ]", "[ -1 ]")
        batching = f"sequence_batching {{ {choice} {idle} {growing_state} }} }}"
        om.save(root, f"growing_{strategy}", growing(), f"max_batch_size: 4 {ONE} {batching}")
    plain = f"sequence_batching {{ {idle} {controls('TYPE_INT32')} }}"
    om.save(root, "told_alone", told(om.INT32, batched=False), f"max_batch_size: 0 {plain}")
    begun = (
        f'{STATE} initial_state {{ name: "begin" data_type: TYPE_INT32 dims: [ 1 ] '
        'data_file: "begin" } }'
    )
    outputs = (
        'output { name: "TOTAL" data_type: TYPE_INT32 dims: [ 1 ] }\n'
        'output { name: "STATE_OUT" data_type: TYPE_INT32 dims: [ 1 ] }\n'
    )
    om.save(
        root,
        "begun",
        total(batched=False),
        f"max_batch_size: 0 {outputs} sequence_batching {{ {idle} {begun} }}",
    )
    (root / "begun" / "initial_state").mkdir()
    (root / "begun" / "initial_state" / "begin").write_bytes((1000).to_bytes(4, "little"))
    text = (
        'control_input { name: "CORRID" control { kind: CONTROL_SEQUENCE_CORRID '
        "data_type: TYPE_STRING } }"
    )
    om.save(root, "names", name_back(), f"max_batch_size: 4 {ONE} sequence_batching {{ {text} }}")
    short = f"sequence_batching {{ max_sequence_idle_microseconds: 500000 {STATE} }} }}"
    om.save(root, "short", total(), f"max_batch_size: 1 {ONE} {short}")
    return root
