"""Reads a forest and looks whether its trees are sound; a program that goes before the server.

Treelite trusts its files: a damaged one can end the process that reads it, or let it walk in
circles through a tree. What this process finds sound can be served safely.
"""

import json
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import treelite

_UNSOUND = 3  # the exit status that comes with a text
# How much address space it may take: so much, and more for larger files.
_MEMORY, _PER_BYTE = 4 << 30, 30


def read_file(path: str, model_type: str, *, allow_unknown_field: bool) -> Any:
    """A model by Triton's name for its kind of file. Raises whatever Treelite does."""
    match model_type:
        case "xgboost":
            return treelite.frontend.load_xgboost_model_legacy_binary(path)
        case "xgboost_json":
            return treelite.frontend.load_xgboost_model(
                path, format_choice="json", allow_unknown_field=allow_unknown_field
            )
        case "xgboost_ubj":
            return treelite.frontend.load_xgboost_model(
                path, format_choice="ubjson", allow_unknown_field=allow_unknown_field
            )
        case "lightgbm":
            return treelite.frontend.load_lightgbm_model(path)
    return treelite.Model.deserialize(path)


def check_forest(model: Any) -> None:
    """Raises ValueError when predicting could leave the memory of the trees, or never end."""
    header = model.get_header_accessor()
    features = int(header.get_field("num_feature")[0])
    targets = int(header.get_field("num_target")[0])
    classes = header.get_field("num_class")
    vector = header.get_field("leaf_vector_shape")
    _need(features > 0, "no features")
    _need(targets >= 1 and len(classes) == targets and (classes >= 1).all(), "bad classes")
    widest = int(classes.max())
    _need(len(header.get_field("base_scores")) == targets * widest, "bad base scores")
    _need(len(vector) == 2 and vector[0] in (1, targets), "bad leaves")
    _need(vector[1] in (1, widest), "bad leaves")
    for name, limit in (("class_id", widest), ("target_id", targets)):
        ids = header.get_field(name)
        _need(len(ids) == model.num_tree, f"bad {name}")
        # -1: for all of them, which the leaves must then have room for
        whole = vector[1 if name == "class_id" else 0] == limit
        one = vector[1 if name == "class_id" else 0] == 1
        fits = ((ids == -1) & whole) | ((ids >= 0) & (ids < limit) & one)
        _need(fits.all(), f"bad {name}")
    width = int(vector[0]) * int(vector[1])
    for number in range(model.num_tree):
        _check_tree(model.get_tree_accessor(number), number, features, width)


def _check_tree(tree: Any, number: int, features: int, width: int) -> None:
    where = f"tree {number}: "
    count = int(tree.get_field("num_nodes")[0])
    _need(count >= 1, where + "no nodes")
    left, right = tree.get_field("cleft"), tree.get_field("cright")
    for name in ("cleft", "cright", "split_index", "default_left", "node_type", "cmp"):
        _need(len(tree.get_field(name)) == count, where + f"bad {name}")
    for name in ("leaf_value", "threshold"):
        _need(len(tree.get_field(name)) == count, where + f"bad {name}")
    inner = left != -1
    kinds = tree.get_field("node_type")
    _need(((right != -1) == inner).all(), where + "a node with one child")
    _need(((kinds != 0) == inner).all(), where + "a leaf with children")
    categorical = bool(tree.get_field("has_categorical_split")[0])
    _need(((kinds >= 0) & (kinds <= 1 + categorical)).all(), where + "a node of no kind")
    children = np.concatenate((left[inner], right[inner]))
    _need(((children >= 1) & (children < count)).all(), where + "a child that is not there")
    # why: when no node has two parents and the root none, no way from the root is a circle.
    _need(len(np.unique(children)) == len(children), where + "a node with two parents")
    split = tree.get_field("split_index")[inner]
    _need(((split >= 0) & (split < features)).all(), where + "a feature that is not there")
    starts, ends = _ranges(tree, "leaf_vector", count, where)
    sizes = (ends - starts)[~inner]
    _need((sizes == (width if width > 1 else 0)).all(), where + "bad leaves")
    _ranges(tree, "category_list", count, where)


def _ranges(tree: Any, name: str, count: int, where: str) -> tuple[Any, Any]:
    """Where each node's part of a list begins and ends."""
    starts = tree.get_field(f"{name}_begin").astype(np.int64)
    ends = tree.get_field(f"{name}_end").astype(np.int64)
    size = len(tree.get_field(name))
    _need(len(starts) == len(ends) == count, where + f"bad {name}")
    sound = (starts >= 0) & (starts <= ends) & (ends <= size)
    _need(bool(sound.all()), where + f"bad {name}")
    return starts, ends


def _need(condition: Any, text: str) -> None:
    if not condition:
        raise ValueError(f"the file is damaged: {text}")


def main() -> int:
    """Arguments: path, model type, whether unknown fields are allowed (1 or 0)."""
    path, model_type, unknown = sys.argv[1:]
    # why: a length that is wrong in the file is memory that Treelite asks for.
    limit = _MEMORY + _PER_BYTE * Path(path).stat().st_size
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        check_forest(read_file(path, model_type, allow_unknown_field=unknown == "1"))
    # why so wide: a broken file may be anything from bad JSON to a wrong encoding.
    except Exception as error:
        sys.stdout.write("\n" + json.dumps(str(error)))
        return _UNSOUND
    return 0


if __name__ == "__main__":
    sys.exit(main())
