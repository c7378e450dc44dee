"""Shapes of rollouts in the REST API's JSON."""

from typing import Any, Literal, TypedDict


class RolloutStage(TypedDict):
    percent: int
    hold_s: int
    mirror: int  # percent of the requests of which the candidate gets copies
    status: Literal["pending", "running", "succeeded", "failed", "canceled"]
    started_at: str | None
    ended_at: str | None
    requests: int


class Rollout(TypedDict):
    id: str
    endpoint: str
    deployment: str  # the candidate
    state: Literal["Running", "Paused", "Succeeded", "Withdrawn", "Aborted", "Superseded"]
    percent: int  # of the traffic that the candidate has
    strategy: Literal["steps", "blue_green"]
    shadow: dict[str, int] | None
    stages: list[RolloutStage]
    min_requests: int
    guardrails: dict[str, dict[str, float | None] | None]  # None: it is not looked at
    previous_traffic: dict[str, int]
    reason: str  # what it waits for, or why it ended
    cause: str
    missing_requests: int
    figures: list[dict[str, Any]]
    latency: list[dict[str, float | None]]
    compared: dict[str, Any] | None  # what came of it, besides the figure `answers`
    golden: dict[str, Any] | None  # answers to golden cases; None: nobody has asked
    judged_at: str | None
    paused_by: str
    created_by: str
    created_at: str
    ended_by: str
    finished_at: str | None


class RolloutDifference(TypedDict):
    source: Literal["cases", "random", "captured"]
    model: str
    at: str
    text: str
    file: str  # of a captured request, else empty
    line: int
    kept: bool  # whether the file is still there
    deployment: str  # whose file it is
