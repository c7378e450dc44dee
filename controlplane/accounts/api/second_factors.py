"""REST of second factors: one's own, and those of others for administrators."""

from typing import cast

from django.contrib.auth import update_session_auth_hash
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import selectors, services
from controlplane.accounts.api.browsers import address_of, remember_browser
from controlplane.accounts.api.sessions import PASSWORD_TRIED
from controlplane.accounts.models import User
from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.second_factor_serializers import (
    CodeSerializer,
    FactorBeginSerializer,
    FactorBegunSerializer,
    FactorSerializer,
    PasswordAndCodeSerializer,
    RecoveryCodesSerializer,
)
from controlplane.core.requests import read_body

BAD_PASSWORD = OpenApiResponse(description="`BadCredentials`: the password is wrong")


class SecondFactorView(APIView):
    read_permission = write_permission = Permission.ACCOUNT
    before_second_factor = True

    @extend_schema(operation_id="second_factor_get", responses=FactorSerializer)
    def get(self, request: Request) -> Response:
        """Whether one has a second factor, and needs one."""
        found = selectors.second_factor_of(cast(User, request.user))
        return Response(FactorSerializer(found).data)

    @extend_schema(
        operation_id="second_factor_begin",
        request=FactorBeginSerializer,
        responses={
            200: FactorBegunSerializer,
            401: BAD_PASSWORD,
            409: OpenApiResponse(description="`SecondFactorOn`, `SignsInElsewhere`"),
            **PASSWORD_TRIED,
        },
    )
    def post(self, request: Request) -> Response:
        """A fresh secret for one's app, shown once; it counts once a code of it was sent."""
        values = read_body(FactorBeginSerializer, request)
        user = cast(User, request.user)
        begun = services.second_factor_begin(
            user=user, address=address_of(request._request), **values
        )
        return Response(FactorBegunSerializer(begun).data)


class SecondFactorConfirmView(APIView):
    write_permission = Permission.ACCOUNT
    before_second_factor = True

    @extend_schema(
        operation_id="second_factor_confirm",
        request=CodeSerializer,
        responses={
            200: RecoveryCodesSerializer,
            401: OpenApiResponse(description="`CodeWrong`"),
            409: OpenApiResponse(description="`SecondFactorNotBegun`, `SecondFactorOn`"),
            429: PASSWORD_TRIED[429],
        },
    )
    def post(self, request: Request) -> Response:
        """From now on a code is asked for; other browsers are signed out. The answer has the
        recovery codes, each of which opens once."""
        values = read_body(CodeSerializer, request)
        user = cast(User, request.user)
        codes = services.second_factor_confirm(
            user=user, address=address_of(request._request), **values
        )
        if request.auth is None:
            update_session_auth_hash(request._request, user)  # gives it a new key as well
            remember_browser(request._request, user)
        return Response(RecoveryCodesSerializer({"recovery_codes": codes}).data)


class SecondFactorDisableView(APIView):
    write_permission = Permission.ACCOUNT

    @extend_schema(
        operation_id="second_factor_disable",
        request=PasswordAndCodeSerializer,
        responses={
            204: None,
            401: OpenApiResponse(description="`BadCredentials`, `CodeWrong`"),
            409: OpenApiResponse(description="`SecondFactorOff`"),
            **PASSWORD_TRIED,
        },
    )
    def post(self, request: Request) -> Response:
        """Take one's own away."""
        values = read_body(PasswordAndCodeSerializer, request)
        user = cast(User, request.user)
        services.second_factor_disable(user=user, address=address_of(request._request), **values)
        return Response(status=status.HTTP_204_NO_CONTENT)


class UserSecondFactorView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="users_second_factor_reset",
        request=None,
        responses={
            204: None,
            403: OpenApiResponse(description="`OwnSecondFactor`"),
            409: OpenApiResponse(description="`SecondFactorOff`"),
        },
    )
    def delete(self, request: Request, username: str) -> Response:
        """For somebody whose app and recovery codes are gone; their sessions end."""
        services.second_factor_reset(username=username, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)
