"""Ensembles at load time, in the protocol's words."""

from typing import Any

import pytest

from tests.unit.worker_runtime.core.ensemble_models import (
    ensemble_text,
    model_text,
    parsed,
    step_text,
    tensor_text,
)
from worker_runtime.errors import ConfigInvalid
from worker_runtime.repository.ensembles import (
    check_composition,
    check_schedule,
    circular,
    complete_ensemble,
    composing,
    invalid_upstream,
    missing,
    unmet,
)

A = step_text("a", {"x": "IN"}, {"y": "MID"})
B = step_text("b", {"x": "MID"}, {"y": "OUT"}, version=2)
CHAIN = ensemble_text("e", ["IN"], ["OUT"], [A, B])


def broken(text: str) -> str:
    return "; ".join(problem.message for problem in check_schedule(parsed(text)))


def test_a_sound_schedule_has_no_findings() -> None:
    assert broken(CHAIN) == ""
    assert broken('name: "m" backend: "onnxruntime"') == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            CHAIN.replace('platform: "ensemble"', 'platform: "onnxruntime_onnx"'),
            "ensemble scheduling cannot be set for model 'e' whose platform is not ensemble",
        ),
        (
            'name: "e" platform: "ensemble"',
            "ensemble scheduling must be set for ensemble e whose platform is ensemble",
        ),
        (
            CHAIN + 'backend: "python"',
            "Ensemble model 'e' must have platform type 'ensemble' and empty backend type",
        ),
        (
            CHAIN + "instance_group { count: 1 }",
            "instance group should not be specified for ensemble 'e'",
        ),
        (CHAIN + "optimization { }", "optimization should not be specified for ensemble 'e'"),
        (
            CHAIN + 'model_warmup { name: "w" }',
            "model_warmup can not be specified for ensemble 'e'",
        ),
        (
            'name: "e" platform: "ensemble" ensemble_scheduling { }',
            "must specify 'step' for ensemble 'e'",
        ),
        (
            ensemble_text("e", ["IN"], ["OUT"], [A, step_text("", {"x": "MID"}, {"y": "OUT"})]),
            "must specify 'model_name' in step 1 of ensemble 'e'",
        ),
        (
            ensemble_text("e", ["IN"], ["OUT"], [step_text("a", {}, {"y": "OUT"})]),
            "must specify 'input_map' in step 0 of ensemble 'e'",
        ),
        (
            ensemble_text("e", ["IN"], ["OUT"], [step_text("a", {"x": "IN"}, {})]),
            "must specify 'output_map' in step 0 of ensemble 'e'",
        ),
        (
            ensemble_text("e", ["IN"], ["OUT"], [A, B, step_text("c", {"x": "IN"}, {"y": "OUT"})]),
            "ensemble tensor 'OUT' can appear in an output map only once for ensemble 'e' step 2",
        ),
        (
            ensemble_text("e", ["IN", "IDLE"], ["OUT"], [A, B]),
            "ensemble input 'IDLE' for ensemble e' is not used",
        ),
        (
            ensemble_text("e", ["IN"], ["OUT", "NONE"], [A, B]),
            "ensemble output 'NONE' for ensemble e' is not used",
        ),
        (
            ensemble_text("e", ["IN"], ["OUT"], [A, step_text("b", {"x": "OTHER"}, {"y": "OUT"})]),
            "output 'OUT' for ensemble 'e' is not written",
        ),
        (
            ensemble_text("e", ["IN"], ["OUT"], [A, B, step_text("c", {"x": "MID"}, {"y": "NOT"})]),
            "ensemble tensor 'NOT' is unused in ensemble 'e'",
        ),
    ],
)
def test_a_schedule_that_does_not_hold_together(text: str, expected: str) -> None:
    assert broken(text) == expected


def test_what_an_ensemble_needs() -> None:
    assert composing(parsed(CHAIN)) == {"a": {-1}, "b": {2}}
    assert composing(parsed('name: "m"')) == {}


def test_missing_models_are_named() -> None:
    assert missing(parsed(CHAIN), ["a", "b"]) == ""
    assert missing(parsed(CHAIN), ["c"]) == (
        "ensemble e contains models that are not available or ambiguous: a, b"
    )


@pytest.mark.parametrize(
    ("loaded", "failures", "expected"),
    [
        ({"a": [1], "b": [1, 2]}, {}, ""),
        ({"b": [2]}, {}, "ensemble 'e' depends on 'a' which has no loaded version."),
        (
            {"b": [2]},
            {"a": "its words"},
            "ensemble 'e' depends on 'a' which has no loaded version. Model 'a' loading failed "
            "with error: its words",
        ),
        (
            {"a": [7], "b": [1]},
            {},
            "ensemble 'e' depends on 'b' whose required version 2 is not loaded.",
        ),
    ],
)
def test_versions_that_are_not_there(
    loaded: dict[str, list[int]], failures: dict[str, str], expected: str
) -> None:
    assert unmet(parsed(CHAIN), loaded, failures) == expected


def test_an_ensemble_of_an_invalid_one_is_invalid() -> None:
    assert invalid_upstream(parsed(CHAIN), {"c": "no"}) == ""
    assert invalid_upstream(parsed(CHAIN), {"b": "no"}) == (
        "ensemble 'e' depends on 'b' which is not valid. Model 'b' failed with error: no"
    )


def test_rings_are_found() -> None:
    def one(name: str, inner: str) -> Any:
        return parsed(
            ensemble_text(name, ["IN"], ["OUT"], [step_text(inner, {"x": "IN"}, {"y": "OUT"})])
        )

    configs = {"p": one("p", "q"), "q": one("q", "r"), "r": one("r", "p"), "s": one("s", "p")}
    assert circular("p", configs) == ("circular dependency between ensembles: p -> ... -> r -> p")
    assert circular("s", configs) == ""  # it leads into a ring and is no part of it
    assert circular("p", {"p": one("p", "m")}) == ""


def models(**texts: str) -> dict[str, Any]:
    return {name: parsed(text) for name, text in texts.items()}


GOOD = {"a": model_text("a"), "b": model_text("b")}


def test_tensors_that_fit_pass() -> None:
    assert check_composition(parsed(CHAIN), models(**GOOD)) is False


@pytest.mark.parametrize(
    ("text", "texts", "expected"),
    [
        (
            ensemble_text("e", ["IN"], ["OUT"], [A, B], batch=8),
            {"a": model_text("a", batch=4), "b": model_text("b", batch=8)},
            "ensemble e allows maximum batch size 8, but it contains model a which only allows "
            "maximum batch size to be 4",
        ),
        (
            CHAIN,
            {"a": model_text("a"), "b": model_text("b", ["other"])},
            "in ensemble e, ensemble tensor MID is mapping to non-existing input x in model b",
        ),
        (
            CHAIN,
            {"a": model_text("a", ["x", "z"]), "b": model_text("b")},
            "in ensemble e, input z in model a is not mapped to any ensemble tensors",
        ),
        (
            CHAIN,
            {"a": model_text("a", outputs=["other"]), "b": model_text("b")},
            "in ensemble e, ensemble tensor MID is mapped from non-existing output y in model a",
        ),
        (
            CHAIN,
            {"a": model_text("a"), "b": model_text("b").replace("FP32", "INT32", 1)},
            "in ensemble e, ensemble tensor MID: inconsistent data type: TYPE_FP32 is inferred "
            "from model a while TYPE_INT32 is inferred from model b",
        ),
        (
            CHAIN,
            {"a": model_text("a"), "b": model_text("b", [tensor_text("input", "x", [3])])},
            "in ensemble e, ensemble tensor MID: inconsistent shape: [2] is inferred from model a "
            "while [3] is inferred from model b",
        ),
        (
            CHAIN,
            {"a": model_text("a", [tensor_text("input", "x", [2, 2])]), "b": model_text("b")},
            "in ensemble e, ensemble tensor IN: inconsistent shape: [2] is inferred from model e "
            "while [2,2] is inferred from model a",
        ),
    ],
)
def test_tensors_that_do_not_fit(text: str, texts: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        check_composition(parsed(text), models(**texts))
    assert str(caught.value) == expected


def test_optional_inputs_need_no_tensor_and_a_batch_axis_may_be_spelled_out() -> None:
    inputs = ["x", tensor_text("input", "z", [2], optional=True)]
    flat = model_text(
        "b", [tensor_text("input", "x", [-1, 2])], [tensor_text("output", "y", [-1, 2])]
    )
    text = ensemble_text("e", ["IN"], ["OUT"], [A, B], batch=4)
    assert (
        check_composition(parsed(text), models(a=model_text("a", inputs, batch=4), b=flat)) is False
    )


DECOUPLED = "model_transaction_policy { decoupled: true }"


def test_an_ensemble_of_a_decoupled_model_is_decoupled() -> None:
    config = parsed(CHAIN)
    complete_ensemble(config, models(a=model_text("a"), b=model_text("b") + DECOUPLED))
    assert config.model_transaction_policy.decoupled
    complete_ensemble(config, models(**GOOD))
    assert not config.model_transaction_policy.decoupled


def test_tensors_of_different_decoupled_models_cannot_meet() -> None:
    text = ensemble_text(
        "e",
        ["IN"],
        ["OUT"],
        [
            step_text("a", {"x": "IN"}, {"y": "L"}),
            step_text("b", {"x": "IN"}, {"y": "R"}),
            step_text("c", {"x": "L", "z": "R"}, {"y": "OUT"}),
        ],
    )
    both = models(
        a=model_text("a") + DECOUPLED,
        b=model_text("b") + DECOUPLED,
        c=model_text("c", ["x", "z"]),
    )
    with pytest.raises(ConfigInvalid) as caught:
        check_composition(parsed(text), both)
    assert str(caught.value) == (
        # 'e' and not 'c': an output of the ensemble goes by the ensemble's name.
        "in ensemble e, step of model 'e' receives inputs originated from different decoupled "
        "models"
    )


def test_a_decoupled_ensemble_cannot_be_cached() -> None:
    config = parsed(CHAIN + "response_cache { enable: true }")
    with pytest.raises(ConfigInvalid) as caught:
        complete_ensemble(config, models(a=model_text("a") + DECOUPLED, b=model_text("b")))
    assert str(caught.value) == (
        "Response Cache does not currently support model e with 'decoupled' transaction policy. "
        "Please disable the response cache."
    )


@pytest.mark.parametrize(
    ("texts", "step"),
    [
        ({"a": model_text("a", ["x", "z"]), "b": model_text("b")}, 0),
        ({"a": model_text("a", outputs=["other"]), "b": model_text("b")}, 0),
        ({"a": model_text("a"), "b": model_text("b", ["x", "z"])}, 1),
        ({"a": model_text("a"), "b": model_text("b").replace("FP32", "INT32", 1)}, 1),
    ],
)
def test_what_does_not_fit_is_said_of_its_step(texts: dict[str, str], step: int) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        check_composition(parsed(CHAIN), models(**texts))
    assert [one.field for one in caught.value.problems] == [f"ensemble_scheduling[0].step[{step}]"]


@pytest.mark.parametrize(
    ("steps", "step"),
    [
        ([A, B, step_text("c", {"x": "MID"}, {"y": "NOT"})], 2),  # made, and taken by nobody
        ([A, step_text("c", {"x": "NOBODY"}, {"y": "MORE"}), B], 1),  # made by nobody
    ],
)
def test_an_idle_tensor_is_said_of_its_step(steps: list[str], step: int) -> None:
    (found,) = check_schedule(parsed(ensemble_text("e", ["IN"], ["OUT"], steps)))
    assert found.field == f"ensemble_scheduling[0].step[{step}]"
