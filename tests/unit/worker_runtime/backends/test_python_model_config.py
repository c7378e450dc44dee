"""What ``auto_complete_config`` may change, and what it is told otherwise, in Triton's words."""

from collections.abc import Callable
from typing import Any

import pytest

from worker_runtime.backends.python.stub.shoal_stub.model_config import ModelConfig

X = {"name": "X", "data_type": "TYPE_FP32", "dims": [4]}
Complete = Callable[[ModelConfig], None]


def config(**more: Any) -> ModelConfig:
    """As the server gives it: fields without a value have their defaults."""
    given = {"name": "X", "data_type": "TYPE_FP32", "dims": [4], "optional": False}
    return ModelConfig({"name": "m", "max_batch_size": 4, "input": [given], "output": [], **more})


@pytest.mark.parametrize(
    ("complete", "words"),
    [
        (
            lambda c: c.add_input({**X, "shape": [1]}),
            "input 'X' in auto-complete-config function for model 'm' contains property other than "
            "'name', 'data_type', 'dims' and 'optional'.",
        ),
        (
            lambda c: c.add_output({**X, "optional": True}),
            "output 'X' in auto-complete-config function for model 'm' contains property other "
            "than 'name', 'data_type' and 'dims'.",
        ),
        (
            lambda c: c.add_input({"data_type": "TYPE_FP32", "dims": [4]}),
            "input in auto-complete-config function for model 'm' is missing 'name' property.",
        ),
        (
            lambda c: c.add_output({"name": "X", "dims": [4]}),
            "output 'X' in auto-complete-config function for model 'm' is missing 'data_type' "
            "property.",
        ),
        (
            lambda c: c.add_input({"name": "X", "data_type": "TYPE_FP32"}),
            "input 'X' in auto-complete-config function for model 'm' is missing 'dims' property.",
        ),
        (
            lambda c: c.add_input({**X, "data_type": "TYPE_INT8"}),
            "unable to load model 'm', configuration expects datatype TYPE_FP32 for input 'X', "
            "model provides TYPE_INT8",
        ),
        (
            lambda c: c.add_input({**X, "dims": [4, -1]}),
            "model 'm', tensor 'X': the model expects dims [4, -1] but the model configuration "
            "specifies dims [4]",
        ),
        (
            lambda c: c.add_input({**X, "optional": True}),
            "model 'm', tensor 'X': the model expects optional True but the model configuration "
            "specifies optional False",
        ),
        (
            lambda c: c.set_max_batch_size(2),
            "configuration specified max_batch_size 4, but in auto-complete-config function for "
            "model 'm' specified max_batch_size 2",
        ),
        (
            lambda c: c.set_model_transaction_policy({"decoupled": True, "other": 1}),
            "model transaction property in auto-complete-config function for model 'm' contains "
            "property other than 'decoupled'.",
        ),
    ],
)
def test_mistakes_are_told_in_tritons_words(complete: Complete, words: str) -> None:
    with pytest.raises(ValueError) as raised:
        complete(config())
    assert str(raised.value) == words


def test_a_scheduler_and_a_policy_that_are_set_stay() -> None:
    with pytest.raises(ValueError, match="scheduling_choice as 'sequence_batching', but auto"):
        config(sequence_batching={}).set_dynamic_batching()
    with pytest.raises(ValueError, match="which is already set to 'False'"):
        config(model_transaction_policy={"decoupled": False}).set_model_transaction_policy(
            {"decoupled": True}
        )


def test_what_is_not_written_down_is_completed() -> None:
    made = config(output=[{"name": "Y", "data_type": "TYPE_INVALID", "dims": []}])
    made.add_input({**X, "optional": False})
    made.add_output({"name": "Y", "data_type": "TYPE_INT8", "dims": [-1]})
    made.add_output({"name": "Z", "data_type": "TYPE_FP32", "dims": [2]})
    made.set_model_transaction_policy({})
    made.set_max_batch_size(8)
    found = made.as_dict()
    assert found["output"] == [
        {"name": "Y", "data_type": "TYPE_INT8", "dims": [-1]},
        {"name": "Z", "data_type": "TYPE_FP32", "dims": [2]},
    ]
    assert (found["max_batch_size"], found["model_transaction_policy"]) == (8, {})
