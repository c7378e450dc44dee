"""Explanations of findings beside Triton's own texts, and further remedies.

Triton's texts stay what they are, to the letter: programs and search engines know them. What people
read first is an explanation of one sentence that says what to change. A rule belongs to one of
Triton's texts (or to one of the findings of ``lint``); its explanation may quote from it.
"""

import re
from collections.abc import Callable
from re import Match
from typing import NamedTuple

from msgspec.structs import replace

from worker_runtime.errors import Problem
from worker_runtime.inspection.edits import fixed, removed, value_replaced

Explanation = Callable[[Match[str]], str]
Remedy = Callable[[str, Problem], tuple[str, str]]  # label, the text after it


class Rule(NamedTuple):
    pattern: "re.Pattern[str]"
    explanation: Explanation
    remedy: Remedy | None = None


def _always(text: str) -> Explanation:
    return lambda _: text


def _remove(label: str) -> Remedy:
    """Take out the field at fault."""
    return lambda text, problem: (label, removed(text, problem.field))


def _write(field: str, value: str, label: str) -> Remedy:
    return lambda text, _: (label, value_replaced(text, field, value))


def _plain_type(name: str) -> str:
    return name.removeprefix("TYPE_")


def _batch_axis(match: Match[str]) -> str:
    size = match["size"]
    if size == "missing":
        return "This model has no batch axis. Set max_batch_size to 0."
    return f"This model has a fixed first axis of {size}. Set max_batch_size to 0."


def _too_large(match: Match[str]) -> str:
    verb = "are" if "," in match["sizes"] else "is"
    return f"{match['sizes']} {verb} larger than max_batch_size ({match['max']})."


def _unused(match: Match[str]) -> str:
    return f"Tensor '{match['tensor']}' is never used."


_LONGEST = 1_000  # characters of a message that is looked at
_CACHE = "Response cache does not work with sequence batching or decoupled models."
_TENSORRT = "Only for TensorRT models."
_NO_CACHE = _write("response_cache[0].enable", "false", "Switch the cache off")
_NOT_IN_ENSEMBLE = "An ensemble cannot have {}: its models have their own."


def _rule(pattern: str, explanation: Explanation | str, remedy: Remedy | None = None) -> Rule:
    if isinstance(explanation, str):
        explanation = _always(explanation)
    return Rule(re.compile(pattern), explanation, remedy)


RULES = (
    _rule(
        r"^unexpected inference (?P<kind>\w+) '(?P<name>.*)', allowed \w+ are: (?P<known>.*)$",
        lambda m: (
            f"{m['kind'].capitalize()} '{m['name']}' is not in the model. "
            f"The model has: {m['known']}."
        ),
    ),
    _rule(
        r"configuration expects datatype (?P<said>\w+) for \w+ '(?P<name>.*)', model provides "
        r"(?P<has>\w+)",
        lambda m: (
            f"The model's '{m['name']}' is {_plain_type(m['has'])}; "
            f"the config says {_plain_type(m['said'])}."
        ),
    ),
    _rule(
        r"^dims of '.*' are .*: max_batch_size is more than 0, so dims leave the batch axis out",
        "The batch axis must not be listed in dims when max_batch_size is above 0.",
    ),
    _rule(
        r"^the model does not batch: the first dimension of '.*' is (?P<size>[-\w]+), not variable",
        _batch_axis,
    ),
    _rule(
        r"^dims of '(?P<name>.*)' are (?P<got>\[.*?\]): the model has (?P<has>\[.*\])",
        lambda m: f"The model's '{m['name']}' is {m['has']}; the config says {m['got']}.",
    ),
    _rule(
        r"cannot have empty reshape for non-batching model",
        "Scalar tensors are not supported.",
        _remove("Remove reshape"),
    ),
    _rule(
        r"(reshape dimensions|dimension) must be integer >= 1, or -1",
        "Use whole numbers of at least 1, or -1 for a variable axis.",
    ),
    _rule(
        r"has different number of variable-size dimensions for dims and reshape",
        "dims and reshape must hold the same number of -1 axes.",
        _remove("Remove reshape"),
    ),
    _rule(
        r"has different size for dims and reshape",
        "dims and reshape must hold the same number of elements.",
        _remove("Remove reshape"),
    ),
    _rule(
        r"^'max_batch_size' must be non-negative",
        "Must be 0 or more.",
        _write("max_batch_size", "0", "Set max_batch_size: 0"),
    ),
    _rule(
        r"^preferred_batch_size (?P<sizes>.*) is more than max_batch_size (?P<max>\d+)$", _too_large
    ),
    _rule(r"preferred (batch )?size must be positive", "Must be at least 1."),
    _rule(
        r"has kind (?P<kind>KIND_\w+) but specifies one or more GPUs",
        lambda m: f"{m['kind']} cannot list GPUs.",
        _remove("Remove gpus"),
    ),
    _rule(r"^Response Cache does not currently support", _CACHE, _NO_CACHE),
    _rule(
        r"^Only one priority level is allowed when 'preserve_ordering' is true",
        "Only one priority level when preserve_ordering is on.",
        _write("dynamic_batching[0].priority_levels", "1", "Set priority_levels: 1"),
    ),
    _rule(
        r"^default priority level must be in range \[1, (?P<most>\d+)\]",
        lambda m: f"The default priority level must be 1 to {m['most']}.",
    ),
    _rule(r"specifies profile field which is only", _TENSORRT, _remove("Remove profile")),
    _rule(r"^shape tensors are only supported", _TENSORRT, _remove("Remove is_shape_tensor")),
    _rule(
        r"^Non-linear IO format is only supported",
        _TENSORRT,
        _remove("Remove is_non_linear_format_io"),
    ),
    _rule(
        r"^instance group should not be specified for ensemble",
        "An ensemble cannot have an instance group.",
        _remove("Remove instance_group"),
    ),
    _rule(
        r"^optimization should not be specified for ensemble",
        _NOT_IN_ENSEMBLE.format("optimization settings"),
        _remove("Remove optimization"),
    ),
    _rule(
        r"^model_warmup can not be specified for ensemble",
        _NOT_IN_ENSEMBLE.format("a warm-up"),
        _remove("Remove model_warmup"),
    ),
    _rule(
        r"^output '(?P<tensor>.*)' for ensemble '.*' is not written",
        lambda m: f"Tensor '{m['tensor']}' is never produced: no step writes it.",
    ),
    _rule(r"^ensemble input '(?P<tensor>.*)' for ensemble .* is not used", _unused),
    _rule(
        r"^ensemble output '(?P<tensor>.*)' for ensemble .* is not used",
        lambda m: f"Tensor '{m['tensor']}' is never produced: no step writes it.",
    ),
    _rule(r"^ensemble tensor '(?P<tensor>.*)' is unused in ensemble", _unused),
    _rule(
        r"allows maximum batch size (?P<max>\d+), but it contains model (?P<model>.*) which only "
        r"allows maximum batch size to be (?P<most>\d+)$",
        lambda m: (
            f"This ensemble allows batches of {m['max']}, but '{m['model']}' takes "
            f"{m['most']} at most."
        ),
    ),
    _rule(
        r"^must specify '(?P<part>\w+)' in step (?P<step>\d+) of ensemble",
        lambda m: f"Step {int(m['step']) + 1}: {m['part']} is missing.",
    ),
    _rule(
        r"can appear in an output map only once for ensemble '.*' step (?P<step>\d+)",
        lambda m: f"Step {int(m['step']) + 1}: another step writes this tensor already.",
    ),
    _rule(
        r"^ensemble '.*' contains model '(?P<model>.*)', which is not in this repository",
        lambda m: f"There is no model '{m['model']}' in this repository.",
    ),
    _rule(
        r"ensemble tensor (?P<tensor>.*) is mapp(?:ed from|ing to) non-existing (?P<kind>\w+) "
        r"(?P<name>.*) in model (?P<model>.*)$",
        lambda m: f"Tensor '{m['tensor']}': model '{m['model']}' has no {m['kind']} '{m['name']}'.",
    ),
    _rule(
        r"input (?P<name>.*) in model (?P<model>.*) is not mapped to any ensemble tensors",
        lambda m: f"Input '{m['name']}' of '{m['model']}' gets nothing: map a tensor to it.",
    ),
    _rule(
        r"ensemble tensor (?P<tensor>.*): inconsistent (?P<what>[a-z ]+): (?P<one>.*) is inferred "
        r"from model (?P<first>.*) while (?P<other>.*) is inferred from model (?P<second>.*)$",
        lambda m: (
            f"Tensor '{m['tensor']}' is {_plain_type(m['one'])} for '{m['first']}' and "
            f"{_plain_type(m['other'])} for '{m['second']}'."
        ),
    ),
    _rule(
        r"^unexpected platform type '.*' for",
        'Set a backend or platform. For an ONNX file: backend: "onnxruntime".',
    ),
    _rule(r"must specify 'data_type'", "Say which type it has: TYPE_FP32, for example."),
    _rule(r"must specify 'dims'", "Say which dims it has; -1 for a variable axis."),
    _rule(
        r"was written by torch\.save",
        "This file holds weights only. Export it with `torch.jit.script` or `torch.onnx.export`.",
    ),
)
_EXTERNAL = re.compile(r'External data path does not exist: "(?:[^"]*/)?(?P<file>[^"/]+)"')


def explain(problem: Problem, text: str = "") -> Problem:
    """The finding with its explanation and, where ``text`` is given and it has none, its remedy."""
    missing = _EXTERNAL.search(problem.detail)
    if missing is not None:
        return replace(
            problem,
            code="ExternalDataMissing",
            plain=f"The model needs {missing['file']}. Drop it here too.",
            hints=("An ONNX graph with external data is several files: drop them together.",),
        )
    if len(problem.message) > _LONGEST:
        return problem  # why: names in it may be of any length, and rules read on to its end
    for rule in RULES:
        match = rule.pattern.search(problem.message)
        if match is None:
            continue
        problem = replace(problem, plain=rule.explanation(match))
        if text and rule.remedy is not None and not problem.fix:
            label, mended = rule.remedy(text, problem)
            return fixed(problem, label, mended if mended != text else "")
        return problem
    return problem
