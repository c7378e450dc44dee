"""Golden cases of what a deployment serves: which there are, and asking them."""

import base64
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db.models import QuerySet

from answers import Tolerance, arrays
from controlplane.console.cases import case_save
from controlplane.console.inference import Call, Target
from controlplane.console.models import SavedCase
from controlplane.console.models_served import served
from controlplane.console.reading import read_inputs
from controlplane.console.tensors import Tensor
from controlplane.core.borrowed import give_back
from controlplane.core.errors import Invalid
from controlplane.deployments.selectors import endpoint_get
from controlplane.deployments.services.keys import endpoint_key_use
from controlplane.golden.asking import Case, Outcome, ask

MOST_CASES: Final = 100  # of one run
WITHIN_S: Final = 30.0  # that all cases of one run may take


@dataclass(frozen=True, slots=True)
class Run:
    deployment: str
    outcomes: tuple[Outcome, ...]


def cases_run(*, endpoint: str, deployment: str, cases: Collection[str] = ()) -> Run:
    """Ask ``deployment``, or the one with the most traffic, the golden cases of its models; with
    ``cases`` these ids alone. Raises EndpointNotFound, DeploymentNotFound, Invalid."""
    name, rows = _chosen(endpoint, deployment, cases)
    if strange := [row.name for row in rows if not row.expected]:
        raise Invalid(
            f"cases: {', '.join(strange)} expect no answer.",
            field="cases",
            hints=("Let them expect what is answered now: `POST .../test-cases/accept`.",),
        )
    return Run(name, tuple(asked(endpoint, name, rows, within_s=WITHIN_S)))


def cases_accept(*, endpoint: str, deployment: str, cases: Collection[str], actor: str) -> Run:
    """Let these cases expect what is answered now, and make them golden; one that is not answered
    stays as it is. Raises EndpointNotFound, DeploymentNotFound, Invalid, PayloadTooLarge."""
    name, rows = _chosen(endpoint, deployment, cases)
    outcomes = []
    for row, outcome in zip(rows, asked(endpoint, name, rows, within_s=WITHIN_S), strict=True):
        if outcome.outputs:
            _accept(row, outcome.outputs, actor)
        outcomes.append(outcome)
    return Run(name, tuple(outcomes))


def golden_cases(endpoint: str, deployment: str) -> QuerySet[SavedCase]:
    """Those of the models that it serves, in the endpoint's project; by name."""
    models = [model["name"] for model in served(endpoint, deployment).models]
    return saved_cases(endpoint, models).exclude(expected=[])


def saved_cases(endpoint: str, models: Collection[str]) -> QuerySet[SavedCase]:
    project = endpoint_get(endpoint).project_id
    found = SavedCase.objects.filter(project=project, model__in=models)
    return found.order_by("model", "name")


def asked(
    endpoint: str, deployment: str, rows: Collection[SavedCase], *, within_s: float
) -> Iterator[Outcome]:
    """Through the gateway, with the endpoint's key, as its clients would."""
    target = target_of(endpoint, deployment)
    give_back()  # why: models may take their time, and others want the pool's connections
    yield from ask(target, map(case_of, rows), within_s=within_s)


def target_of(endpoint: str, deployment: str) -> Target:
    key = endpoint_key_use(name=endpoint)
    return Target(settings.SHOAL_GATEWAY_PLAIN_URL, endpoint, key, deployment)


def _chosen(endpoint: str, deployment: str, cases: Collection[str]) -> tuple[str, list[SavedCase]]:
    found = served(endpoint, deployment)
    if not cases:
        rows = list(golden_cases(endpoint, found.deployment)[: MOST_CASES + 1])
    else:
        rows = _named(endpoint, found.deployment, cases, [one["name"] for one in found.models])
    if len(rows) > MOST_CASES:
        raise Invalid(
            f"cases: more than {MOST_CASES} golden cases, expected at most {MOST_CASES}.",
            field="cases",
            hints=("Name those that are to be asked.",),
        )
    return found.deployment, rows


def _named(
    endpoint: str, deployment: str, cases: Collection[str], models: list[str]
) -> list[SavedCase]:
    project = endpoint_get(endpoint).project_id
    rows = {row.id: row for row in SavedCase.objects.filter(project=project, pk__in=list(cases))}
    for case in cases:
        if case not in rows:
            raise Invalid(
                f"cases: {case!r} is no test case of the project {project}.", field="cases"
            )
        if rows[case].model not in models:
            raise Invalid(
                f"cases: {rows[case].name} is of the model {rows[case].model}, expected one of "
                f"{', '.join(models)}, which {deployment} serves.",
                field="cases",
            )
    return [rows[case] for case in dict.fromkeys(cases)]  # why: answers come as they were asked for


def call_of(row: SavedCase) -> Call:
    return Call(
        model=row.model,
        inputs=read_inputs(row.inputs),
        version=str(row.options.get("version") or ""),
        parameters=row.options.get("parameters") or {},
    )


def case_of(row: SavedCase) -> Case:
    return Case(
        id=row.id,
        name=row.name,
        call=call_of(row),
        expected=arrays(row.expected),
        tolerance=Tolerance(**row.tolerance),
    )


def _accept(row: SavedCase, outputs: Collection[Tensor], actor: str) -> None:
    case_save(
        name=row.name,
        description=row.description,
        model=row.model,
        endpoint=row.endpoint,
        inputs=row.inputs,
        options=row.options,
        expected=[
            {
                "name": one.name,
                "datatype": one.datatype,
                "shape": list(one.shape),
                "data": {"b64": base64.b64encode(one.raw).decode()},
            }
            for one in outputs
        ],
        tolerance=row.tolerance,
        actor=actor,
        replace=row,
    )
