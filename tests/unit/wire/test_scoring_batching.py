"""What ``@batched`` says, read from a script that nobody runs."""

import pytest

from wire.scoring import Batching, batching_of, wrapping


@pytest.mark.parametrize(
    ("decorators", "expected"),
    [
        ("", None),
        ("@other(4)", None),
        ("@batched", Batching(8, 5.0)),
        ("@batched()", Batching(8, 5.0)),
        ("@batched(16)", Batching(16, 5.0)),
        ("@batched(16, 2.5)", Batching(16, 2.5)),
        ("@scoring.batched(max_queue_delay_ms=0)", Batching(8, 0)),
        ("@other\n@batched(max_batch_size=2)", Batching(2, 5.0)),
    ],
)
def test_numbers_stand_at_the_decorator(decorators: str, expected: Batching | None) -> None:
    assert batching_of(f"import x\n{decorators}\ndef run(data):\n    return data\n") == expected


@pytest.mark.parametrize(
    ("decorator", "words"),
    [
        ("@batched(SIZE)", "max_batch_size is SIZE, expected a number from 2 to 1024 as it stands"),
        ("@batched(1)", "max_batch_size is 1, expected a number from 2 to 1024"),
        ("@batched(True)", "max_batch_size is True"),
        ("@batched(2.5)", "max_batch_size is 2.5"),
        ("@batched(8, -1)", "max_queue_delay_ms is -1, expected a number from 0 to 10000"),
        ("@batched(8, 1e9)", "max_queue_delay_ms is 1e9, expected"),
        (f"@batched({'+'.join('1' * 900)})", "max_batch_size is 1+1+1"),
        (f"@batched('{'x' * 100_000}')", "max_batch_size is 'xxx"),
        ("@batched(size=8)", "@batched takes max_batch_size and max_queue_delay_ms"),
        ("@batched(**SIZES)", "@batched takes max_batch_size and max_queue_delay_ms"),
        ("@batched(8, 5, 3)", "@batched takes max_batch_size and max_queue_delay_ms"),
    ],
)
def test_what_is_no_plain_number_is_refused(decorator: str, words: str) -> None:
    with pytest.raises(ValueError, match="@batched") as caught:
        batching_of(f"{decorator}\ndef run(data):\n    return data\n")
    assert words in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("source", ["def run(:", "\0", "x = " + "(" * 500 + ")" * 500])
def test_what_is_no_python_is_told_by_who_runs_it(source: str) -> None:
    assert batching_of(source) is None


def test_functions_within_others_are_not_run() -> None:
    assert batching_of("class A:\n    @batched\n    def run(self): ...\n") is None


def test_a_batch_stands_in_the_configuration() -> None:
    written = wrapping(script="azureml-app/score.py", batching=Batching(16, 2.5))["config.pbtxt"]
    assert "max_batch_size: 16\n" in written
    assert "dynamic_batching { max_queue_delay_microseconds: 2500 }" in written
    assert "max_batch_size" not in wrapping()["config.pbtxt"]
