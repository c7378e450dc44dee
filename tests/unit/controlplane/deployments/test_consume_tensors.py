"""Which tensors the programs of an endpoint's page send and read."""

from typing import Any

import pytest

from controlplane.deployments.selectors.consume import answered, sent


def specs(names: str) -> list[dict[str, Any]]:
    return [{"name": name.rstrip("?"), "optional": name.endswith("?")} for name in names.split()]


@pytest.mark.parametrize(
    ("inputs", "outputs", "sends", "reads"),
    [
        ("a b?", "c d", "a", "c d"),
        # a scoring script, and a model of MLflow with a signature, without one for its answers
        ("REQUEST REQUEST_HEAD?", "RESPONSE RESPONSE_HEAD", "REQUEST", "RESPONSE RESPONSE_HEAD"),
        ("REQUEST? REQUEST_HEAD? age? pay?", "RESPONSE RESPONSE_HEAD y", "age pay", "y"),
        ("REQUEST? age?", "RESPONSE", "age", "RESPONSE"),
        ("a? b?", "c", "a b", "c"),
    ],
)
def test_what_a_call_brings_and_gets(inputs: str, outputs: str, sends: str, reads: str) -> None:
    assert " ".join(spec["name"] for spec in sent(specs(inputs))) == sends
    found = answered(specs(inputs), specs(outputs))
    assert " ".join(spec["name"] for spec in found) == reads
