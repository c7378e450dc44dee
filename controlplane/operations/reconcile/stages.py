"""Pure: when each stage of an operation is done, what it waits for, what must happen first."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from controlplane.deployments.types import Failure, size_text
from controlplane.operations.reconcile.values import (
    DELETIONS,
    RANK,
    Action,
    AskCandidate,
    Case,
    Finish,
    Place,
    R,
    Reach,
    ReplicaFacts,
    Route,
    Stage,
    Stop,
)
from controlplane.operations.reconcile.waves import wave_of
from controlplane.operations.types import OperationKind, StageName, StageStatus

PLACE_TIMEOUT: Final = timedelta(seconds=20)  # a node may just be (re)starting
UNROUTE_TIMEOUT: Final = timedelta(seconds=10)  # a deletion does not wait for a dead gateway
# Jobs that ask golden cases wait behind models that are taken in: time counts once they have begun.
ASK_WAIT: Final = timedelta(seconds=60)  # before one that has not is sent again: it may be lost
QUEUE_TIMEOUT: Final = timedelta(minutes=10)  # that none may have begun
ASK_AGAIN: Final = timedelta(seconds=40)  # its process may be lost; all cases take 20 s at most
ASK_TIMEOUT: Final = timedelta(seconds=100)  # a deployment does not fail as nobody asks it
GATE_AGAIN: Final = timedelta(seconds=90)  # the same before the first request, of 60 s at most
GATE_PAUSE: Final = timedelta(seconds=10)  # before what was not answered is asked again
GATE_TIMEOUT: Final = timedelta(minutes=5)
STOP_TIMEOUT: Final = timedelta(seconds=60)  # more than an agent needs to drain and stop

SKIP_HINT: Final = "`--skip-golden` (`?skip_golden=true`) does without."
NAMED_NODES: Final = 8  # more are counted, not listed
IN_WAVES: Final = (
    StageName.PLACE,
    StageName.DOWNLOAD,
    StageName.INSTALL,
    StageName.LOAD,
    StageName.WARM,
)

TITLES: Final = {
    StageName.VALIDATE: "Validate",
    StageName.PLACE: "Choose nodes",
    StageName.DOWNLOAD: "Download to the nodes",
    StageName.INSTALL: "Install packages",
    StageName.LOAD: "Load the model",
    StageName.WARM: "First inference",
    StageName.GOLDEN: "Ask golden cases",
    StageName.ROUTE: "Route traffic",
    StageName.ROLLOUT: "Begin the rollout",
    StageName.STOP: "Drain and stop",
}
STAGES: Final = {
    OperationKind.DEPLOY: (
        StageName.VALIDATE,
        StageName.PLACE,
        StageName.DOWNLOAD,
        StageName.LOAD,
        StageName.WARM,
        StageName.ROUTE,
    ),
    OperationKind.SCALE: (
        StageName.PLACE,
        StageName.DOWNLOAD,
        StageName.LOAD,
        StageName.WARM,
        StageName.ROUTE,
    ),
    OperationKind.DELETE_DEPLOYMENT: (StageName.ROUTE, StageName.STOP),
    OperationKind.DELETE_ENDPOINT: (StageName.ROUTE, StageName.STOP),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one stage: done, or waiting (with progress), or failed; with what must happen first."""

    done: bool = False
    detail: str = ""
    progress: float | None = None
    actions: tuple[Action, ...] = ()
    failure: Failure | None = None


def stages_new(
    kind: OperationKind, *, rolls: bool = False, asks: bool = False
) -> tuple[Stage, ...]:
    """``rolls``: a rollout shall begin once the deployment is ready. ``asks``: golden cases come
    before the first request."""
    names = list(STAGES[kind])
    if asks:
        names.insert(names.index(StageName.ROUTE), StageName.GOLDEN)
    if rolls:
        names.append(StageName.ROLLOUT)
    return tuple(Stage(name) for name in names)


def with_install(case: Case) -> tuple[Stage, ...]:
    """Its stages, with one for packages of Python models as soon as a node installs any.

    why not from the beginning: most models have no packages, and whether a node has them already it
    knows itself.
    """
    names = [stage.name for stage in case.stages]
    if StageName.LOAD not in names or StageName.INSTALL in names:
        return case.stages
    loading = names.index(StageName.LOAD)
    if case.stages[loading].status == StageStatus.SUCCEEDED:
        return case.stages
    if not any(replica.installing or replica.install_seconds for replica in case.own()):
        return case.stages
    return (*case.stages[:loading], Stage(StageName.INSTALL), *case.stages[loading:])


def _validate(case: Case, stage: Stage) -> Verdict:
    del stage
    return Verdict(done=case.spec_failure is None, failure=case.spec_failure)


def _place(case: Case, stage: Stage) -> Verdict:
    extra = tuple(
        replica.id
        for replica in case.replicas
        if replica.running and replica.ordinal >= case.instance_count
    )
    if extra:
        return Verdict(detail=f"Stopping {len(extra)} more than asked for.", actions=(Stop(extra),))
    wave = wave_of(case)
    if not wave.left or not wave.room:
        return Verdict(done=True, detail=_on_nodes(case.own()))
    if not case.chosen.unplaced:
        return Verdict(actions=(Place(case.chosen.assigned[: wave.room]),))
    if stage.started_at is None or case.now - stage.started_at < PLACE_TIMEOUT:
        return Verdict(detail=f"No node can take it yet. {case.chosen.why_not}")
    count = len(case.chosen.unplaced)
    return Verdict(
        failure=Failure(
            "OutOfCapacity",
            f"No node can take {count} of {case.instance_count} replica(s).",
            detail=case.chosen.why_not,
            hints=("Add a node, or bring one of these back, then retry.",),
        )
    )


def _on_nodes(replicas: list[ReplicaFacts]) -> str:
    nodes = sorted({replica.node for replica in replicas})
    if len(nodes) > NAMED_NODES:
        return f"on {len(nodes)} nodes"
    return f"on {', '.join(nodes)}" if nodes else "nothing to place"


def _download(case: Case, stage: Stage) -> Verdict:
    del stage
    own = case.own()
    total = sum(replica.total_bytes for replica in own)
    fetched = sum(replica.downloaded_bytes for replica in own)
    cached = sum(replica.cached_bytes for replica in own)
    if all(replica.rank >= RANK[R.STARTING] for replica in own):
        kept = f", {size_text(cached)} of it already there" if cached else ""
        return Verdict(done=True, detail=f"{size_text(total)}{kept}" if own else "nothing to fetch")
    known = bool(total)
    share = min(1.0, fetched / total) if known else None
    detail = f"{size_text(fetched)} of {size_text(total)}" if known else "waiting for the node"
    return Verdict(detail=_with_silence(own, detail), progress=share)


def _install(case: Case, stage: Stage) -> Verdict:
    del stage
    own = case.own()
    there = sum(replica.rank >= RANK[R.STARTING] and not replica.installing for replica in own)
    if there == len(own):
        did = any(replica.install_seconds for replica in own)
        return Verdict(done=True, detail="installed" if did else "already there")
    said = next((f"{one.node}: {one.installing}" for one in own if one.installing), "")
    counted = f"{there} of {len(own)} replica(s)" if len(own) > 1 else ""
    detail = "; ".join(part for part in (counted, said) if part)
    progress = there / len(own) if len(own) > 1 else None
    return Verdict(detail=_with_silence(own, detail), progress=progress)


def _until(rank: int, doing: str, did: str) -> Callable[[Case, Stage], Verdict]:
    def handler(case: Case, stage: Stage) -> Verdict:
        del stage
        own = case.own()
        there = sum(replica.rank >= rank for replica in own)
        if there == len(own):
            return Verdict(done=True, detail=did if own else "nothing to start")
        detail = f"{doing}: {there} of {len(own)} replica(s)"
        return Verdict(detail=_with_silence(own, detail), progress=there / len(own))

    return handler


def _with_silence(replicas: list[ReplicaFacts], detail: str) -> str:
    silent = sorted({replica.node for replica in replicas if replica.node_offline})
    return f"{detail}; {', '.join(silent)} is silent" if silent else detail


def _golden(case: Case, stage: Stage) -> Verdict:
    """Nothing is sent to the new replicas before this is done, so that waiting harms nobody."""
    gate = case.gate
    if gate.failure is not None:
        return Verdict(failure=gate.failure)
    if case.candidate_answered or not case.own():
        return Verdict(done=True, detail=gate.told or "nothing to ask")
    if gate.generation is None:
        return Verdict(detail="telling the gateway", actions=(Reach(),))
    if _took_too_long(case, stage, GATE_TIMEOUT):
        return Verdict(failure=_unanswered(case))
    if case.candidate_asked is None:
        if case.confirmed_generation < gate.generation:
            silent = [f"gateway {name} is silent" for name, _ in case.unconfirmed]
            return Verdict(detail="; ".join(["waiting for the gateway to confirm", *silent]))
        return Verdict(detail="asking", actions=(AskCandidate(),))
    due = _asks_again(case, GATE_PAUSE if gate.waits else GATE_AGAIN)
    detail = f"not answered: {gate.unanswered[0]}; asking again" if gate.unanswered else "asking"
    return Verdict(detail=detail, actions=(AskCandidate(),) if due else ())


def _took_too_long(case: Case, stage: Stage, within: timedelta) -> bool:
    """``within``: that golden cases may take, from when the first job has begun to ask them."""
    if case.candidate_first is not None:
        return case.now - case.candidate_first >= within
    return case.now - (stage.started_at or case.now) >= QUEUE_TIMEOUT


def _asks_again(case: Case, pause: timedelta) -> bool:
    """``pause``: from when the last job began."""
    if case.candidate_asked is None:
        return True
    if case.candidate_began is None:
        return case.now - case.candidate_asked >= ASK_WAIT
    return case.now - case.candidate_began >= pause


def _unanswered(case: Case) -> Failure:
    cases = case.gate.unanswered
    if cases:
        text = "It has not answered its golden cases"
        hint = "See its log, then retry."
    elif case.candidate_asked is None:
        text = "No gateway has said that it reaches the new replicas"
        hint = "Check that the gateway and its agent are running, then retry."
    else:
        text = "Nobody has asked its golden cases"
        hint = "Is the worker of the queue ingest up, or busy with other models? Then retry."
    within = QUEUE_TIMEOUT if case.candidate_first is None else GATE_TIMEOUT
    minutes = within.total_seconds() / 60
    return Failure(
        "GoldenCasesUnanswered",
        f"{text} within {minutes:.0f} min; it got no requests.",
        detail="\n".join(cases),
        hints=(hint, SKIP_HINT),
    )


def _route(case: Case, stage: Stage) -> Verdict:
    if case.route_generation is None:
        return Verdict(detail="Telling the gateway", actions=(Route(),))
    if case.refusal is not None and case.kind not in DELETIONS:
        return Verdict(failure=case.refusal)
    if case.confirmed_generation >= case.route_generation:
        return Verdict(done=True, detail="; ".join(["confirmed by the gateway", *_missing(case)]))
    waited = case.now - (stage.started_at or case.now)
    if case.kind in DELETIONS and waited >= UNROUTE_TIMEOUT:
        return Verdict(done=True, detail="the gateway did not answer; it will drop the route later")
    silent = [f"gateway {name} is silent" for name, _ in case.unconfirmed]
    return Verdict(detail="; ".join(["waiting for the gateway to confirm", *silent]))


def _missing(case: Case) -> list[str]:
    return [
        f"not confirmed by gateway {name} (silent for {silence.total_seconds():.0f} s)"
        for name, silence in case.unconfirmed
    ]


def _rollout(case: Case, stage: Stage) -> Verdict:
    """How it ends is known once the deployment is settled: whoever finishes writes it down."""
    if case.candidate_answered or _took_too_long(case, stage, ASK_TIMEOUT):
        return Verdict(detail=stage.detail, actions=(Finish(),))
    due = _asks_again(case, ASK_AGAIN)
    return Verdict(detail="asking its golden cases", actions=(AskCandidate(),) if due else ())


def _stop(case: Case, stage: Stage) -> Verdict:
    running = tuple(replica.id for replica in case.replicas if replica.running)
    if running:
        return Verdict(detail="draining", actions=(Stop(running),))
    left = [
        replica
        for replica in case.replicas
        if replica.state not in (R.STOPPED, R.FAILED) and not replica.node_offline
    ]
    if not left:
        return Verdict(done=True, detail="all replicas are gone")
    nodes = sorted({replica.node for replica in left})
    if case.now - (stage.started_at or case.now) >= STOP_TIMEOUT:
        return Verdict(done=True, detail=f"{', '.join(nodes)} will stop the rest by itself")
    return Verdict(detail=f"draining on {', '.join(nodes)}")


def examine(case: Case, stage: Stage) -> Verdict:
    """What its handler says, with the wave that it speaks of."""
    verdict = HANDLERS[stage.name](case, stage)
    text = wave_of(case).text if stage.name in IN_WAVES else ""
    return replace(verdict, detail=f"{text}: {verdict.detail}") if text else verdict


HANDLERS: Final[dict[StageName, Callable[[Case, Stage], Verdict]]] = {
    StageName.VALIDATE: _validate,
    StageName.PLACE: _place,
    StageName.DOWNLOAD: _download,
    StageName.INSTALL: _install,
    StageName.LOAD: _until(RANK[R.WARMING], "loading", "loaded"),
    StageName.WARM: _until(RANK[R.READY], "warming", "has had a first inference"),
    StageName.GOLDEN: _golden,
    StageName.ROUTE: _route,
    StageName.ROLLOUT: _rollout,
    StageName.STOP: _stop,
}
