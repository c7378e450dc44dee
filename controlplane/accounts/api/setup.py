"""REST of the first run; the only writes that need neither password nor token of a person."""

from django.contrib.auth import login
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import selectors, services
from controlplane.accounts.api.browsers import address_of, remember_browser
from controlplane.accounts.api.sessions import describe_session
from controlplane.accounts.serializers import (
    SessionSerializer,
    SetupSerializer,
    SetupStateSerializer,
)
from controlplane.core.requests import read_body


class SetupView(APIView):
    permission_classes = [AllowAny]

    @extend_schema(operation_id="setup_get", responses=SetupStateSerializer)
    def get(self, request: Request) -> Response:
        """Whether the first administrator is still to come."""
        del request
        return Response(SetupStateSerializer({"open": selectors.setup_user() is not None}).data)

    @extend_schema(
        operation_id="setup_finish",
        request=SetupSerializer,
        responses={
            200: SessionSerializer,
            400: OpenApiResponse(description="`PasswordRefused`"),
            401: OpenApiResponse(description="`SetupTokenWrong`"),
            404: OpenApiResponse(description="`SetupClosed`"),
            429: OpenApiResponse(description="`TooManyAttempts`; see `Retry-After`"),
        },
    )
    def post(self, request: Request) -> Response:
        """Choose name and password of the first administrator, and be signed in. JSON only."""
        values = read_body(SetupSerializer, request)
        user = services.setup_finish(**values, address=address_of(request._request))
        login(request._request, user, backend="django.contrib.auth.backends.ModelBackend")
        remember_browser(request._request, user)
        request.user = user
        request.auth = None
        return Response(SessionSerializer(describe_session(request)).data)
