"""REST of people: for administrators."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import selectors, services
from controlplane.accounts.models import User
from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.serializers import (
    NewUserSerializer,
    PasswordMadeSerializer,
    PasswordSetSerializer,
    UserInputSerializer,
    UserPatchSerializer,
    UserSerializer,
)
from controlplane.core.etags import IF_MATCH, etag_of, if_match
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_body, read_only, read_query

UserPageSerializer = page_of(UserSerializer)
SHOWN_ONLY = read_only(UserSerializer, UserInputSerializer, UserPatchSerializer)


def user_etag(body: Any) -> str:
    return etag_of(body["username"], body["role"], body["active"], body["sign_in"])


def user_answer(user: User) -> Response:
    body = UserSerializer(user).data
    return Response(body, headers={"ETag": user_etag(body)})


class UsersView(APIView):
    read_permission = write_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="users_list", parameters=PAGE_PARAMETERS, responses=UserPageSerializer
    )
    def get(self, request: Request) -> Response:
        query = read_query(PageQuery, request)
        page = paginate(
            selectors.user_list().filter(username__icontains=query["q"]),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["username"],
        )
        return Response(UserPageSerializer(page).data)

    @extend_schema(
        operation_id="users_create",
        request=UserInputSerializer,
        responses={
            201: NewUserSerializer,
            400: OpenApiResponse(description="`PasswordRefused`"),
            409: OpenApiResponse(description="`NameTaken`"),
        },
    )
    def post(self, request: Request) -> Response:
        """Let somebody in. Without ``password`` one is made up and shown in this answer only."""
        values = read_body(UserInputSerializer, request)
        user, password = services.user_create(actor=actor(request), **values)
        body = {**UserSerializer(user).data, "password": password}
        return Response(body, status=status.HTTP_201_CREATED)


class UserView(APIView):
    read_permission = write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="users_get", responses=UserSerializer)
    def get(self, request: Request, username: str) -> Response:
        del request
        return user_answer(selectors.user_get(username))

    @extend_schema(
        operation_id="users_update",
        parameters=[IF_MATCH],
        request=UserPatchSerializer,
        responses={
            200: UserSerializer,
            409: OpenApiResponse(description="`LastAdministrator`, `SignsInElsewhere`"),
        },
    )
    def patch(self, request: Request, username: str) -> Response:
        """Another role, or ``active: false``: sessions and tokens end at once."""
        values = read_body(
            UserPatchSerializer, request, ignored=SHOWN_ONLY, fixed={"username": username}
        )
        with if_match(
            request,
            User.objects.filter(username=username),
            lambda: UserSerializer(selectors.user_get(username)).data,
            user_etag,
        ):
            user = services.user_update(username=username, actor=actor(request), **values)
        return user_answer(user)


class UserPasswordView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="users_password",
        request=PasswordSetSerializer,
        responses={
            200: PasswordMadeSerializer,
            409: OpenApiResponse(description="`SignsInElsewhere`"),
        },
    )
    def post(self, request: Request, username: str) -> Response:
        """A new password for somebody who forgot theirs; their sessions end, tokens stay."""
        values = read_body(PasswordSetSerializer, request)
        made = services.password_set(username=username, actor=actor(request), **values)
        return Response(PasswordMadeSerializer({"password": made}).data)
