"""TensorFlow's graphs: operators that read or write files, or call Python; from the wire format."""

import mmap
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from worker_runtime.files.protobuf import Torn, parts, text
from worker_runtime.types.code import FILES, PYTHON, UNKNOWN

Told = tuple[str, str]
_MOST_NODES: Final = 500_000
_NAMES: Final = (".pb", ".graphdef", ".savedmodel", ".cpb")
# By name, for TensorFlow has more operators than a list could follow.
_PYTHON: Final = re.compile(r"(Eager)?PyFunc")
_FILES: Final = re.compile(
    r"File|Reader|Record|Dataset|Checkpoint|Summary|Print|Debug|Dump|Restore|Save|Load|Merge"
    r"|WholeFile|LMDB|BigQuery|Bigtable|Kafka|Rpc|Archive|Immutable"
)
# A SavedModel's own two functions, which save and restore its variables.
_SAVING: Final = frozenset(
    {"SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "Save", "Restore",
     "SaveSlices", "RestoreSlice"}
)  # fmt: skip
_SAVER: Final = re.compile(r"__inference__?traced_(save|restore)_\d+\Z")
_PURE: Final = frozenset({"Merge", "RefMerge", "MergeSummary", "MergeDedupData"})


def graph_kinds(file: BinaryIO, name: str, size: int, head: bytes) -> Iterator[Told]:
    """Of a SavedModel or frozen graph, told by its name or by how it begins; else nothing."""
    named = PurePosixPath(name).suffix.lower() in _NAMES
    if not named and not head.startswith((b"\x08\x01\x12", b"\n")):
        return
    with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as pages:
        view = memoryview(pages)
        try:
            yield from dict.fromkeys(_operators(view, named=named))
        finally:
            view.release()


def _operators(view: memoryview, *, named: bool) -> list[Told]:
    try:
        return _saved(view) or _frozen(view)
    except Torn:
        if named:
            return [(UNKNOWN, "is no graph of TensorFlow that can be read")]
    except _TooMany:
        return [(UNKNOWN, "is a graph of too many operators to look at each")]
    return []


class _TooMany(Exception):
    """More operators than are looked at."""


def _saved(view: memoryview) -> list[Told]:
    found: list[Told] = []
    for meta in parts(view, 2):
        for graph in parts(meta, 2):
            found += _frozen(graph, saved=True)
    return found


def _frozen(graph: memoryview, *, saved: bool = False) -> list[Told]:
    found: list[Told] = []
    called: set[str] = set()
    saving: set[str] = set()
    count = 0
    for node in parts(graph, 1):
        count += 1
        operator, node_name = text(node, 2), text(node, 1)
        mine = saved and (node_name.startswith("save") or operator == "ShardedFilename")
        found += _told(operator, saving=mine)
        if count > _MOST_NODES:
            raise _TooMany
    for library in parts(graph, 2):
        for function in parts(library, 1):
            own = next((text(item, 1) for item in parts(function, 1)), "")
            saver = saved and _SAVER.match(own) is not None
            if saver:
                saving.add(own)
            for node in parts(function, 3):
                count += 1
                if count > _MOST_NODES:
                    raise _TooMany
                found += _told(text(node, 2), saving=saver)
                called |= _functions(node)
    if called & saving:
        name = min(called & saving)
        found.append((FILES, f"holds a graph that calls {name}, which reads or writes files"))
    return found


def _told(operator: str, *, saving: bool) -> list[Told]:
    if _PYTHON.search(operator):
        return [(PYTHON, f"holds a graph that calls Python ({operator[:100]})")]
    if operator in _PURE or (saving and operator in _SAVING):
        return []
    if _FILES.search(operator):
        return [(FILES, f"holds a graph with {operator[:100]}, which may read or write files")]
    return []


def _functions(node: memoryview) -> set[str]:
    """The functions that a node's attributes name, in lists too."""
    found = {text(node, 2)}
    for attribute in parts(node, 5):
        for value in parts(attribute, 2):
            found |= {text(named, 1) for named in parts(value, 10)}
            for several in parts(value, 1):
                found |= {text(named, 1) for named in parts(several, 9)}
    return found
