"""TensorFlow's graphs: operators that read or write files, or call Python; from the wire format."""

import mmap
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from worker_runtime.files.protobuf import Budget, Malformed, TooMany, parts, text
from worker_runtime.types.code import FILES, PYTHON, UNKNOWN

Finding = tuple[str, str]
_MOST_FIELDS: Final = 8_000_000
_SAVED_MODEL: Final = "saved_model.pb"
_NAMES: Final = (".pb", ".graphdef", ".savedmodel", ".cpb")
# By name, for TensorFlow has more operators than a list could follow.
_PYTHON: Final = re.compile(r"(Eager)?PyFunc")
_FILES: Final = re.compile(
    r"File|Reader|Record|Dataset|Checkpoint|Summary|Print|Debug|Dump|Restore|Save|Load|Merge"
    r"|LMDB|BigQuery|Bigtable|Kafka|Rpc|Archive|Immutable"
    r"|codeProto|VocabRemapping|Skipgram|FixedUnigram|TRTResource"  # files by an attribute
)
# A SavedModel's own two functions, which save and restore its variables.
_SAVING: Final = frozenset(
    {
        "SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "Save", "Restore",
        "SaveSlices", "RestoreSlice",
    }
)  # fmt: skip
_SAVER: Final = re.compile(r"__inference__?traced_(save|restore)_\d+\Z")
_PURE: Final = frozenset({"Merge", "RefMerge", "MergeSummary", "MergeDedupData"})


def graph_kinds(file: BinaryIO, name: str, size: int) -> Iterator[Finding]:
    """Of a SavedModel or a frozen graph, whatever it is called; nothing of anything else."""
    if not size:
        return
    named = PurePosixPath(name).suffix.lower() in _NAMES
    with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as pages:
        with memoryview(pages) as view:
            found = list(dict.fromkeys(_operators(view, named=named)))
    yield from found


def kinds_of_graph(path: Path) -> list[Finding]:
    """The same of a file that TensorFlow is about to open as a graph."""
    with path.open("rb") as file:
        return list(graph_kinds(file, _SAVED_MODEL, path.stat().st_size))


def _operators(view: memoryview, *, named: bool) -> Iterator[Finding]:
    """Read as either, for a file may be both; bytes that are neither tell nothing."""
    budget, torn = Budget(_MOST_FIELDS), 0
    for read in (_saved, _frozen):
        try:
            yield from read(view, budget)
        except Malformed:
            torn += 1
        except TooMany:
            yield UNKNOWN, "is a graph, or what looks like one, of too many parts to look at each"
            return
    if named and torn == 2:
        yield UNKNOWN, "is no graph of TensorFlow that can be read"


def _saved(view: memoryview, budget: Budget) -> list[Finding]:
    found: list[Finding] = []
    for meta in parts(view, 2, budget):
        if any(map(_is_savers, _results(meta, budget))):
            found.append((FILES, "holds a graph with a signature that saves or restores"))
        for graph in parts(meta, 2, budget):
            found += _frozen(graph, budget, saved=True)
    return found


def _frozen(graph: memoryview, budget: Budget, *, saved: bool = False) -> list[Finding]:
    found: list[Finding] = []
    called: set[str] = set()
    saving: set[str] = set()
    for node in parts(graph, 1, budget):
        operator, mine = text(node, 2, budget), saved and _is_savers(text(node, 1, budget))
        found += _findings_of(operator, saving=mine)
        # why: a saver's own nodes run by the saver alone, as long as nothing else waits for them.
        if saved and not mine and any(map(_is_savers, _inputs(node, budget))):
            found.append((FILES, "holds a graph that saves or restores when it is asked"))
    for library in parts(graph, 2, budget):
        for function in parts(library, 1, budget):
            own = next((text(item, 1, budget) for item in parts(function, 1, budget)), "")
            saver = saved and _SAVER.match(own) is not None
            if saver:
                saving.add(own)
            for node in parts(function, 3, budget):
                found += _findings_of(text(node, 2, budget), saving=saver)
                called |= _functions(node, budget)
    if called & saving:
        name = min(called & saving)
        found.append((FILES, f"holds a graph that calls {name}, which reads or writes files"))
    return found


def _findings_of(operator: str, *, saving: bool) -> list[Finding]:
    if _PYTHON.search(operator):
        return [(PYTHON, f"holds a graph that calls Python ({operator[:100]})")]
    if operator in _PURE or (saving and operator in _SAVING):
        return []
    if _FILES.search(operator):
        return [(FILES, f"holds a graph with {operator[:100]}, which may read or write files")]
    return []


def _is_savers(name: str) -> bool:
    return name.lstrip("^").startswith("save")


def _inputs(node: memoryview, budget: Budget) -> list[str]:
    return [bytes(item).decode("utf-8", "replace") for item in parts(node, 3, budget)]


def _results(meta: memoryview, budget: Budget) -> Iterator[str]:
    """The tensors that the signatures of a graph answer with."""
    for entry in parts(meta, 5, budget):
        for signature in parts(entry, 2, budget):
            for output in parts(signature, 2, budget):
                for tensor in parts(output, 2, budget):
                    yield text(tensor, 1, budget)


def _functions(node: memoryview, budget: Budget) -> set[str]:
    """The functions that a node's attributes name, in lists too."""
    found = {text(node, 2, budget)}
    for attribute in parts(node, 5, budget):
        for value in parts(attribute, 2, budget):
            found |= {text(named, 1, budget) for named in parts(value, 10, budget)}
            for several in parts(value, 1, budget):
                found |= {text(named, 1, budget) for named in parts(several, 9, budget)}
    return found
