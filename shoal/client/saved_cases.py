"""The client's calls about saved calls of the test console."""

from collections.abc import Mapping
from typing import Any, Final, TypedDict, cast

from shoal.client.administration import Administration, quoted

KEPT: Final = (
    *("name", "description", "model", "endpoint"),
    *("inputs", "options", "expected", "tolerance"),
)


class SavedCaseSummary(TypedDict):
    id: str
    name: str
    description: str
    model: str
    endpoint: str
    tensors: list[dict[str, Any]]
    golden: bool
    created_by: str
    created_at: str
    updated_at: str


class SavedCase(SavedCaseSummary):
    inputs: list[dict[str, Any]]
    options: dict[str, Any]
    expected: list[dict[str, Any]]
    tolerance: dict[str, float]


class SavedCases(Administration):
    """A part of ``Client``."""

    def list_test_cases(self, *, model: str = "") -> list[SavedCaseSummary]:
        """Without their data; ``model`` is what clients call it."""
        return list(self._items("/test-cases", model=model))

    def get_test_case(self, case_id: str) -> SavedCase:
        return cast(SavedCase, self._get(f"/test-cases/{quoted(case_id)}"))

    def save_test_case(self, case: Mapping[str, Any]) -> SavedCase:
        """``case``: name, model, inputs, and what else REST takes."""
        return cast(SavedCase, self._transport.json("POST", "/test-cases", json=_body(case)))

    def replace_test_case(self, case_id: str, case: Mapping[str, Any]) -> SavedCase:
        path = f"/test-cases/{quoted(case_id)}"
        return cast(SavedCase, self._transport.json("PUT", path, json=_body(case)))


def _body(case: Mapping[str, Any]) -> dict[str, Any]:
    return {key: case[key] for key in KEPT if key in case}
