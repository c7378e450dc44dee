"""Pickles, told from their opcodes; none is ever opened."""

import pickletools
from typing import Final

_MOST_OPCODES: Final = 200_000
_PROTOCOLS: Final = (b"\2", b"\3", b"\4", b"\5")
_CALLS: Final = frozenset({"REDUCE", "OBJ", "INST", "NEWOBJ", "NEWOBJ_EX", "BUILD"})
_NAMES: Final = frozenset({"GLOBAL", "STACK_GLOBAL", "INST", "EXT1", "EXT2", "EXT4"})
_HIDDEN: Final = frozenset({"STACK_GLOBAL", "EXT1", "EXT2", "EXT4"})
# What torch.load(weights_only=True) makes, and nothing else.
WEIGHTS: Final = frozenset(
    {
        "collections.OrderedDict", "collections.Counter", "collections.defaultdict",
        "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2",
        "torch._utils._rebuild_tensor_v3", "torch._utils._rebuild_parameter",
        "torch._utils._rebuild_parameter_with_state", "torch._utils._rebuild_qtensor",
        "torch._utils._rebuild_sparse_tensor", "torch._utils._rebuild_meta_tensor_no_storage",
        "torch._utils._rebuild_device_tensor_from_numpy",
        "torch._utils._rebuild_device_tensor_from_cpu_tensor",
        "torch._tensor._rebuild_from_type_v2", "torch.serialization._get_layout",
        "torch.nn.parameter.Parameter", "torch.Tensor", "torch.Size", "torch.device",
        "torch.per_tensor_affine", "torch.per_channel_affine", "_codecs.encode",
        "builtins.bytearray", "builtins.set", "builtins.complex",
    }
)  # fmt: skip
_TYPES: Final = frozenset(
    {
        "float16", "float32", "float64", "bfloat16", "half", "float", "double", "uint8", "int8",
        "int16", "int32", "int64", "short", "int", "long", "bool", "complex32", "complex64",
        "complex128", "uint16", "uint32", "uint64", "quint8", "qint8", "qint32", "quint4x2",
        "quint2x4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    }
)  # fmt: skip

_CLASSES: Final = "__torch__.torch.classes."
_PACKED: Final = (f"{_CLASSES}quantized.", f"{_CLASSES}rnn.", f"{_CLASSES}xnnpack.")


def is_pickle(head: bytes) -> bool:
    """The bytes begin a pickle: one that is whole, or that calls something before it breaks."""
    depths: list[int] = []  # of the stack at each mark, the lowest first
    depth, named, count = 0, False, 0
    try:
        for count, (opcode, _, _) in enumerate(pickletools.genops(head)):
            name = opcode.name
            depth = _after(opcode, depth, depths)
            named = named or name in _NAMES
            if depth < 0 or count > _MOST_OPCODES:
                return named and depth >= 0
            if named and name in _CALLS:
                return True
            if name == "STOP":
                return count > 1 and depth == 0
    # why so wide: pickletools raises what the bytes make it raise.
    except Exception as error:
        # one that says its protocol, and goes on beyond these bytes
        goes_on = count > 0 or "but only" in str(error)
        return head[:1] == b"\x80" and head[1:2] in _PROTOCOLS and goes_on
    return False


def _after(opcode: pickletools.OpcodeInfo, depth: int, marks: list[int]) -> int:
    """How deep the stack is after it; below 0 where it takes what is not there."""
    before = list(opcode.stack_before)
    if opcode.name == "MARK":
        marks.append(depth)
        return depth
    if pickletools.markobject in before:
        if not marks:
            return -1
        depth = marks.pop()
        before = before[: before.index(pickletools.markobject)]
    if depth < len(before):
        return -1
    return depth - len(before) + len(opcode.stack_after)


def unexpected_globals(data: bytes, *, script: bool) -> list[str]:
    """Objects that the pickle names and that no file of weights needs, sorted.

    ``script``: it is of a TorchScript archive, whose own classes C++ makes. Names that stand on
    the stack cannot be told, and are unexpected.
    """
    found = set()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name in _HIDDEN:
                found.add(f"({opcode.name})")
            elif opcode.name in ("GLOBAL", "INST"):
                name = str(argument).replace(" ", ".")
                if not _is_known(name, script=script):
                    found.add(name)
    except Exception as error:  # why so wide: as above
        found.add(f"(torn: {type(error).__name__})")
    return sorted(found)


def _is_known(name: str, *, script: bool) -> bool:
    if name in WEIGHTS:
        return True
    module, _, last = name.rpartition(".")
    if module == "torch" and (last in _TYPES or last.endswith("Storage")):
        return True
    if not script:
        return False
    return (
        module == "torch.jit._pickle"
        or (name.startswith("__torch__.") and not name.startswith(_CLASSES))
        or name.startswith(_PACKED)
    )
