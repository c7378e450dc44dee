"""The base of all views for Azure's clients: bearer tokens, and failures as ARM shapes them."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from django.conf import settings
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from controlplane.accounts.auth import ApiTokenAuthentication
from controlplane.accounts.models import Project
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.accounts.projects import in_scope
from controlplane.azure.errors import AzureInvalid
from controlplane.azure.types import Place, Values
from controlplane.core import http
from controlplane.core.rest_exceptions import exception_handler
from controlplane.core.validation_messages import explained

Row = TypeVar("Row", bound=Model)
MOST_LISTED = 200
LONGEST_NUMBER = 9
TOLD = ("WWW-Authenticate", "Retry-After", "Allow")


def error_of(problem: Values) -> Values:
    """Azure's clients print the code, the message and the details."""
    hints = problem.get("hints") or ()
    return {
        "error": {
            "code": problem["code"],
            "message": problem["detail"],
            "target": problem.get("field"),
            "details": [{"code": "Hint", "message": hint} for hint in hints],
            "additionalInfo": [
                {"type": "RequestId", "info": {"value": problem.get("request_id")}},
            ],
        }
    }


def arm_problem(answer: HttpResponse) -> HttpResponse:
    """One of our problems, in ARM's shape."""
    problem = json.loads(answer.content)
    told = JsonResponse(error_of(problem), status=answer.status_code)
    told["x-ms-error-code"] = problem["code"]
    for name in TOLD:
        if name in answer:
            told[name] = answer[name]
    return told


def arm_exception_handler(exc: Exception, context: dict[str, Any]) -> HttpResponse | None:
    answer = exception_handler(exc, context)
    return None if answer is None else arm_problem(answer)


@csrf_exempt
def nothing_here(request: HttpRequest, **_: str) -> HttpResponse:
    """404 as JSON, whatever the method: these paths are never the studio's."""
    if settings.SHOAL_AZURE_API:
        return arm_problem(http.not_found(request))
    return arm_problem(
        http.problem_response(
            404,
            code="ResourceNotFound",
            detail="This installation does not answer Azure's clients.",
            instance=request.path,
            hints=("An administrator may set SHOAL_AZURE_API.",),
        )
    )


class ArmView(ProjectAPIView):
    """A resource below a workspace. Cookies prove nothing here: browsers have no business."""

    authentication_classes = [ApiTokenAuthentication]
    schema = None  # it is Azure's interface, and described there

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not settings.SHOAL_AZURE_API:
            return nothing_here(request)
        return super().dispatch(request, *args, **kwargs)

    def get_exception_handler(self) -> Callable[..., HttpResponse | None]:
        return arm_exception_handler

    @property
    def place(self) -> Place:
        return Place(
            self.kwargs["subscription"],
            self.kwargs.get("group", ""),
            self.kwargs.get("workspace", ""),
        )

    def listed(
        self, request: Request, rows: QuerySet[Row], resource: Callable[[Row, Place], Values]
    ) -> Response:
        """A page of ``rows``, each as its ``resource``."""
        place = self.place
        return listed(request, rows, lambda found: [resource(row, place) for row in found])

    def project(self) -> str:
        """The project that the workspace is called as, if it is one of the caller's."""
        return project_called(self.place.workspace)


def project_called(workspace: str) -> str:
    known = Project.objects.filter(name=workspace).exists()
    return workspace if known and in_scope(workspace) else ""


def checked(kind: type[serializers.Serializer[Any]], values: Values) -> Values:
    """What REST's own form makes of ``values``. Raises ValidationError."""
    form = kind(data=values)
    if not form.is_valid():
        raise explained(form)
    return dict(form.validated_data)


def body_of(request: Request) -> Values:
    """Raises AzureInvalid."""
    if not isinstance(request.data, dict):
        raise AzureInvalid("The body: expected an object.")
    return request.data


def properties_of(request: Request) -> Values:
    """``properties`` of the body. Raises AzureInvalid."""
    found = body_of(request).get("properties")
    if not isinstance(found, dict):
        raise AzureInvalid("properties: missing, expected an object.", field="properties")
    return found


def page(items: list[Values], following: str | None = None) -> Response:
    return Response({"value": items, "nextLink": following})


def listed(
    request: Request, rows: QuerySet[Row], shown: Callable[[list[Row]], list[Values]]
) -> Response:
    """A page of ``rows``, and where the next one is. With ``$top`` so many, and no more."""
    skip, top = _number(request, "$skip", 0), _number(request, "$top", MOST_LISTED)
    most = min(top, MOST_LISTED)
    found = list(rows[skip : skip + most + 1])
    following = None
    if len(found) > most and "$top" not in request.query_params:
        query = request.query_params.copy()
        query["$skip"] = str(skip + most)
        following = f"{settings.SHOAL_PUBLIC_URL}{request.path}?{query.urlencode()}"
    return page(shown(found[:most]), following)


def _number(request: Request, name: str, default: int) -> int:
    """Raises AzureInvalid."""
    text = request.query_params.get(name, str(default))
    if not text.isascii() or not text.isdecimal() or len(text) > LONGEST_NUMBER:
        raise AzureInvalid(f"{name}: {text[:40]!r}, expected a whole number.", field=name)
    return int(text)
