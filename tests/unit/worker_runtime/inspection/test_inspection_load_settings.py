"""Instances, batches and delay: read of a configuration, and written into somebody's text."""

from typing import Any

import pytest

from worker_runtime.inspection.load_settings import load_settings, with_load_settings
from worker_runtime.repository.pbtxt import parse

SHORT = 'name: "m"\n'
FULL = """# ours
name: "m"
max_batch_size: 8  # as clients send
instance_group [
  {
    count: 2  # two cores
    kind: KIND_CPU
  }
]
dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 100
  preserve_ordering: true
}
"""
TIGHT = 'max_batch_size: 4 instance_group { kind: KIND_CPU } dynamic_batching { }\nname: "m"\n'


@pytest.mark.parametrize("text", ["", SHORT, FULL, TIGHT, 'name: "m"\ninstance_group []\n'])
@pytest.mark.parametrize(("instances", "batch", "delay"), [(3, 16, 500), (1, 1, 500), (4, 0, 0)])
def test_a_text_says_what_was_asked(text: str, instances: int, batch: int, delay: int) -> None:
    before = parse(text)
    written = with_load_settings(text, instances=instances, batch=batch, delay_us=delay)
    config = parse(written)
    assert [group.count for group in config.instance_group] == [instances]
    assert [group.kind for group in config.instance_group] == [
        group.kind for group in before.instance_group
    ] or not before.instance_group
    if batch:
        assert config.max_batch_size == batch
        assert config.dynamic_batching.max_queue_delay_microseconds == (delay if batch > 1 else 0)
        assert list(config.dynamic_batching.preferred_batch_size) == []
    else:
        assert (config.max_batch_size, config.dynamic_batching) == (
            before.max_batch_size, before.dynamic_batching,
        )  # fmt: skip
    # once more says the same: nothing piles up
    again = with_load_settings(written, instances=instances, batch=batch, delay_us=delay)
    assert again == written


def test_the_rest_of_the_text_stays() -> None:
    written = with_load_settings(FULL, instances=3, batch=16, delay_us=500)
    for kept in ("# ours", "# as clients send", "count: 3  # two cores", "preserve_ordering: true"):
        assert kept in written
    assert with_load_settings(FULL, instances=None, batch=0, delay_us=0) == FULL


@pytest.mark.parametrize(
    ("effective", "expected"),
    [
        (SHORT, {"instances": 1, "batch": 0, "delay_us": 0, "why_not": "", "fixed": ""}),
        (FULL, {"instances": 2, "batch": 8, "delay_us": 100}),
        (SHORT + "instance_group [{count: 2}, {count: 3}]", {"instances": 5, "fixed": "it has 2"}),
        (SHORT + 'platform: "ensemble"\nensemble_scheduling {}', {"why_not": "it is an ensemble"}),
        (SHORT + "sequence_batching {}", {"why_not": "it keeps sequences"}),
        (SHORT + "model_transaction_policy { decoupled: true }", {"why_not": "it answers in"}),
    ],
)
def test_what_a_configuration_says_is_read(effective: str, expected: dict[str, Any]) -> None:
    found = load_settings(effective)
    for name, value in expected.items():
        assert str(found[name]).startswith(str(value)) if value else found[name] == value
