"""Saved cases asked of a deployment, as its clients would: through the gateway, with its key."""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from answers import Difference, Tolerance, answer, arrays, differences, request
from shoal.client.client import Client
from shoal.client.errors import ShoalError
from shoal.client.saved_cases import SavedCase
from shoal.client.types import Endpoint
from shoal.sdk import scoring


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one case. ``error``: nothing that could be compared was answered."""

    case: str
    model: str
    seconds: float
    differences: tuple[Difference, ...] = ()
    error: str = ""

    @property
    def passed(self) -> bool:
        return not (self.differences or self.error)

    @property
    def text(self) -> str:
        return self.error or "; ".join(f"{one.output} {one.text}" for one in self.differences)


def run(
    client: Client, endpoint: str, deployment: str | None, cases: Iterable[SavedCase]
) -> Iterator[Outcome]:
    """Ask each golden case in turn; cases are whole, with their data."""
    asking = _Asking(client, endpoint, deployment)
    for case in cases:
        began = time.monotonic()
        try:
            got = arrays(asking(case))
            tolerance = Tolerance(**case["tolerance"])
            found = differences(arrays(case["expected"]), got, tolerance)
        except (ShoalError, ValueError) as error:
            seconds = time.monotonic() - began
            outcome = Outcome(case["name"], case["model"], seconds, error=str(error))
        else:
            seconds = time.monotonic() - began
            outcome = Outcome(case["name"], case["model"], seconds, tuple(found))
        yield outcome


@dataclass(frozen=True, slots=True)
class Comparison:
    """Of one case, asked of two deployments. ``error``: one of them gave nothing to compare."""

    case: str
    model: str
    seconds: tuple[float, float]
    differences: tuple[Difference, ...] = ()
    error: str = ""

    @property
    def text(self) -> str:
        return self.error or "; ".join(f"{one.output} {one.text}" for one in self.differences)


def compare(
    client: Client, endpoint: str, deployments: tuple[str, str], cases: Iterable[SavedCase]
) -> Iterator[Comparison]:
    """Ask both for each case, one after the other; what the first answers is expected of the
    second, within the case's tolerance."""
    one, other = (_Asking(client, endpoint, name) for name in deployments)
    for case in cases:
        began = between = time.monotonic()
        found: tuple[Difference, ...] = ()
        told, asked = "", deployments[0]
        try:
            expected = arrays(one(case))
            between, asked = time.monotonic(), deployments[1]
            got = arrays(other(case))
            found = tuple(differences(expected, got, Tolerance(**case["tolerance"])))
        except (ShoalError, ValueError) as error:
            told = f"{asked}: {error}"
        seconds = between - began, time.monotonic() - between
        yield Comparison(case["name"], case["model"], seconds, found, told)


def golden(
    client: Client, endpoint: str, deployment: str | None, case: Mapping[str, Any]
) -> dict[str, Any]:
    """The case, expecting what is answered now. Nothing is kept. Raises ShoalError, ValueError."""
    return {**case, "expected": _Asking(client, endpoint, deployment)(case)}


class _Asking:
    """Calls of one deployment, or of whichever gets the traffic."""

    def __init__(self, client: Client, endpoint: str, deployment: str | None) -> None:
        self._client = client
        self._shown: Endpoint = client.get_endpoint(endpoint)
        self._secret = scoring.secret(client, self._shown)
        self._deployment = deployment

    def __call__(self, case: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The outputs, as tensors of a case. Raises ShoalError, ValueError."""
        options = case.get("options", {})
        body, headers = request(case["inputs"], options.get("parameters", {}))
        version = options.get("version")
        path = f"v2/models/{case['model']}{f'/versions/{version}' if version else ''}/infer"
        found = scoring.call(
            self._shown, self._secret, path, body, headers, self._deployment, self._client
        )
        return answer(found.content, found.headers)
