"""A repository as one JSON object: what each model takes and gives, and what is wrong with it."""

from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from worker_runtime.core.loading import LoadingRules, ModelPlan, described
from worker_runtime.errors import ConfigInvalid, FileUnreadable, LoadFailed, Problem, RuntimeFault
from worker_runtime.inspection.compositions import check_ensemble
from worker_runtime.inspection.drafts import UNDECLARED, config_needed, draft
from worker_runtime.inspection.encodings import config_read
from worker_runtime.inspection.explanations import explain
from worker_runtime.inspection.lint import problem_key, repaired
from worker_runtime.inspection.readers.choice import read_metadata
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.inspection.readers.trees import opening
from worker_runtime.inspection.shapes import metadata_json, problem_json, tensor_json
from worker_runtime.repository.code.verdict import code_beside, code_in_folder
from worker_runtime.repository.complete import check_graph, complete
from worker_runtime.repository.labels import read_labels
from worker_runtime.repository.layout import ModelDirectory, scan
from worker_runtime.repository.normalise import normalise, unsupported_backend
from worker_runtime.repository.pbtxt import parse, places, render
from worker_runtime.repository.validation import check_named_files, placed, validate
from worker_runtime.types.backends import FORMATS, by_backend
from worker_runtime.types.code import UNKNOWN, CodeReason
from worker_runtime.types.instances import Machine
from worker_runtime.types.signature import signature_of
from worker_runtime.types.tensor import BY_NAME

# why one core and no GPU: what is shown must not depend on the machine that looks.
RULES = LoadingRules(Machine(cores=2))
# Backends whose models name their own tensors when they load; others need them in config.pbtxt.
SELF_DESCRIBING = frozenset({"onnxruntime", "tensorflow", "openvino"})


class Looked(Struct):
    """One model: how it is shown, what was found, and its configuration as far as it is known."""

    directory: ModelDirectory
    shown: dict[str, Any]
    problems: list[Problem]
    text: str  # as it should be: after every fix
    config: Any = None
    changed: bool = False  # text differs from what was uploaded
    certain: bool = True  # nothing in it was guessed


def inspect_repository(path: Path) -> dict[str, Any]:
    """``{"models": [...], "problems": [...], "code": [...]}``; bad models are shown, never raised.

    ``code`` has the reasons that the files are; each model has those of its configuration.
    """
    code = [reason.as_json() for reason in code_in_folder(path)]
    directories = [item for item in scan(path) if item.versions or item.config_path]
    if not directories:
        return {"models": [], "problems": [problem_json(_nothing_found(path))], "code": code}
    looked = [inspect_model(directory) for directory in directories]
    configs = {item.shown["name"]: item.config for item in looked if item.config is not None}
    for item in looked:
        if item.config is not None:
            _compose(item, configs)
    for item in looked:
        item.shown["proposal"] = _proposal(item)
        item.shown["code"] = [reason.as_json() for reason in _code(item)]
    return {
        "models": [item.shown for item in looked],
        "problems": [
            problem_json(explain(problem), item.shown["name"])
            for item in looked
            for problem in item.problems
        ],
        "code": code,
    }


def _compose(item: Looked, configs: dict[str, Any]) -> None:
    """Look at an ensemble beside the others; mend what can be mended, one thing after another."""
    for _ in range(len(configs) + 2):
        found = check_ensemble(item.text, item.config, configs)
        item.problems += found
        step = next((problem for problem in found if problem.fix), None)
        if step is None:
            return
        item.text, item.changed = step.fix, True
        item.config = parse(item.text)
        configs[item.shown["name"]] = item.config


def _code(item: Looked) -> list[CodeReason]:
    """Of every text that may be used: as uploaded, as proposed, and those beside it by name."""
    directory, uploaded = item.directory, item.shown["config_text"]
    # why not always the former: where the look ended early it is mended in part, and not proposed
    found = code_beside(directory, item.text if item.changed else uploaded)
    if item.changed:
        # why without ``unknown``: it can be used as proposed only.
        first = code_beside(directory, uploaded)
        found += [reason for reason in first if reason.kind != UNKNOWN]
    for path in sorted(directory.path.glob("configs/*.pbtxt")):
        if not path.is_file():
            continue
        text, _ = config_read(path.read_bytes())
        found += code_beside(directory, text, path.relative_to(directory.path).as_posix())
    return list(dict.fromkeys(found))


def _proposal(item: Looked) -> dict[str, Any] | None:
    if not item.changed:
        return None
    return {"text": item.text, "certain": item.certain}


def inspect_model(directory: ModelDirectory) -> Looked:
    """One model, with what was found about it; errors end the look where nothing more is known."""
    text, odd = config_read(directory.config_path.read_bytes() if directory.config_path else b"")
    looked = Looked(
        directory, _blank(directory, text), [odd] if odd else [], odd.fix if odd else text
    )
    looked.changed = odd is not None
    try:
        metadata, plan = _metadata(directory, looked)
    except (RuntimeFault, UnicodeDecodeError) as error:
        looked.problems += problems_of(error)
        return looked
    _describe(looked, plan, metadata)
    return looked


def _metadata(directory: ModelDirectory, looked: Looked) -> tuple[FileMetadata | None, ModelPlan]:
    """Mend the text, first without the file, then with it, for the file's kind stands in it."""
    name = directory.name
    if directory.config_path is None and directory.versions:
        looked.text = opening(directory.version_path(directory.versions[-1]), name)
    looked.text, first = repaired(looked.text, name, None)
    looked.problems += first
    plan = _plan(directory, looked.text)
    # why before any is opened: what lies elsewhere is none of the uploader's business
    if outside := check_named_files(plan.config, plan.places, contained=True):
        raise ConfigInvalid(outside[0].message, tuple(outside))
    versions = plan.versions
    unknown = unsupported_backend(plan.config)
    if unknown is not None:
        known = by_backend(plan.config.backend) is not None and unknown.field == "backend"
        if not known:
            raise LoadFailed(unknown.message, unknown)
        looked.problems.append(replace(unknown, severity="warning"))
    looked.shown |= {
        "backend": plan.config.backend,
        "platform": plan.config.platform,
        "versions": list(versions),
    }
    metadata = read_metadata(plan)
    if metadata is not None:
        looked.problems += metadata.problems
        looked.text, found = repaired(looked.text, name, metadata)
        said = {problem_key(problem) for problem in looked.problems}
        looked.problems += [problem for problem in found if problem_key(problem) not in said]
        plan = _plan(directory, looked.text)
    looked.changed = looked.text != looked.shown["config_text"]
    return metadata, plan


def _plan(directory: ModelDirectory, text: str) -> ModelPlan:
    """As the runtime plans it, for a text that may not be on the disk. Raises ConfigInvalid."""
    config, where = parse(text), places(text)
    normalise(config, directory, RULES.machine)
    return ModelPlan(directory, config, where, "max_batch_size" in where)


def _describe(looked: Looked, plan: ModelPlan, metadata: FileMetadata | None) -> None:
    """Complete, validate and show; every finding joins the model's problems."""
    config, model = plan.config, looked.shown
    looked.config = config
    backend = config.backend
    if metadata is not None:
        model["graph"] = metadata_json(metadata, backend)
    graph = metadata.graph if metadata else None
    declared = bool(config.input and config.output)
    try:
        if backend == "python" and metadata is not None:
            _as_its_code_says(config, metadata, plan)
        elif graph is not None:
            given = plan.max_batch_given or backend not in SELF_DESCRIBING
            model["provenance"] = complete(config, graph, max_batch_given=given)
        if metadata is not None and not declared and backend in UNDECLARED:
            looked.text, looked.certain = draft(config, metadata)
            looked.changed = True
            if not looked.certain:
                looked.problems.append(config_needed(config.name, metadata))
                model["config_effective"] = render(config)
                return
        open_ended = metadata is not None and metadata.fills_itself and graph is None
        looked.problems += validate(config, plan.places, complete=not open_ended)
        errors = any(item.severity == "error" for item in looked.problems)
        if graph is not None and backend in SELF_DESCRIBING and not errors:
            check_graph(config, graph)
        if not all(item.data_type for item in (*config.input, *config.output)):
            model["config_effective"] = render(config)
            return  # it is told above, or the model's own code will fill it in
        signature = signature_of(config, read_labels(config, plan.directory.path))
    except RuntimeFault as error:
        looked.problems.extend(placed(problem, plan.places) for problem in problems_of(error))
        model["config_effective"] = render(config)
        return
    model |= {
        "max_batch_size": signature.max_batch_size,
        "decoupled": config.model_transaction_policy.decoupled,
        "inputs": [tensor_json(spec) for spec in signature.inputs],
        "outputs": [tensor_json(spec, output=True) for spec in signature.outputs],
        "config_effective": render(config),
    }
    model["warnings"] += [described(p) for p in looked.problems if p.severity == "warning"]


def _as_its_code_says(config: Any, metadata: FileMetadata, plan: ModelPlan) -> None:
    """What ``auto_complete_config`` will add once the model is loaded, as far as it is literal."""
    if metadata.max_batch_size is not None and not plan.max_batch_given:
        config.max_batch_size = metadata.max_batch_size
    if metadata.graph is None:
        return
    for field, tensors in (
        (config.input, metadata.graph.inputs),
        (config.output, metadata.graph.outputs),
    ):
        known = {item.name for item in field}
        for tensor in tensors:
            if tensor.name not in known and tensor.datatype in BY_NAME:
                number = BY_NAME[tensor.datatype].number
                field.add(name=tensor.name, data_type=number, dims=tensor.dims)


def _blank(directory: ModelDirectory, text: str) -> dict[str, Any]:
    return {
        "name": directory.name,
        "backend": "",
        "platform": "",
        "versions": list(directory.versions),
        "max_batch_size": 0,
        "decoupled": False,
        "inputs": [],
        "outputs": [],
        "config_text": text,
        "config_effective": "",
        "graph": None,
        "provenance": {},
        "files": directory.files(),
        "warnings": list(directory.warnings),
        "proposal": None,
        "code": [],
    }


def problems_of(error: Exception) -> list[Problem]:
    """What a failure tells, as findings."""
    if isinstance(error, ConfigInvalid | FileUnreadable) and error.problems:
        return list(error.problems)
    if isinstance(error, LoadFailed) and error.problem is not None:
        return [error.problem]
    return [Problem("ConfigInvalid", str(error))]


def _nothing_found(path: Path) -> Problem:
    files = ", ".join(item.filename for item in FORMATS if item.filename)
    here = sorted(item.name for item in path.iterdir())[:20]
    return Problem(
        "NoModelFound",
        "no model was found",
        detail=(
            f"looked for <model>/<version>/<file>, with a whole number as version and one of "
            f"{files}, or <model>/config.pbtxt; found {', '.join(here) or 'an empty directory'}"
        ),
        hints=("put the file at <model>/1/model.onnx",),
    )
