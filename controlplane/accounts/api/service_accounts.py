"""REST of service accounts: for administrators."""

from datetime import timedelta

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts import selectors, services
from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.accounts.service_serializers import (
    NewServiceAccountSerializer,
    ServiceAccountInputSerializer,
    ServiceAccountPatchSerializer,
    ServiceAccountRotateSerializer,
    ServiceAccountSerializer,
)
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_body, read_only, read_query

ServiceAccountPageSerializer = page_of(ServiceAccountSerializer)
SHOWN_ONLY = read_only(ServiceAccountSerializer, ServiceAccountPatchSerializer)
TOO_LONG = OpenApiResponse(description="`TokenTooLong`")


def _with_token(name: str, token: str, code: int) -> Response:
    body = {**ServiceAccountSerializer(selectors.service_account_get(name)).data, "token": token}
    return Response(body, status=code)


class ServiceAccountsView(APIView):
    read_permission = write_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="service_accounts_list",
        parameters=PAGE_PARAMETERS,
        responses=ServiceAccountPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """With the tokens of each that still work: prefixes, never the tokens."""
        query = read_query(PageQuery, request)
        page = paginate(
            selectors.service_account_list().filter(username__icontains=query["q"]),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["username"],
        )
        return Response(ServiceAccountPageSerializer(page).data)

    @extend_schema(
        operation_id="service_accounts_create",
        request=ServiceAccountInputSerializer,
        responses={
            201: NewServiceAccountSerializer,
            400: TOO_LONG,
            409: OpenApiResponse(description="`NameTaken`"),
        },
    )
    def post(self, request: Request) -> Response:
        """A program's account, and its first token, shown in this answer only."""
        values = read_body(ServiceAccountInputSerializer, request)
        account, token = services.service_account_create(actor=actor(request), **values)
        return _with_token(account.username, token, status.HTTP_201_CREATED)


class ServiceAccountView(APIView):
    read_permission = write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="service_accounts_get", responses=ServiceAccountSerializer)
    def get(self, request: Request, name: str) -> Response:
        del request
        return Response(ServiceAccountSerializer(selectors.service_account_get(name)).data)

    @extend_schema(
        operation_id="service_accounts_update",
        request=ServiceAccountPatchSerializer,
        responses=ServiceAccountSerializer,
    )
    def patch(self, request: Request, name: str) -> Response:
        """Another role, from its next request on."""
        values = read_body(
            ServiceAccountPatchSerializer, request, ignored=SHOWN_ONLY, fixed={"name": name}
        )
        services.service_account_role(name=name, actor=actor(request), **values)
        return Response(ServiceAccountSerializer(selectors.service_account_get(name)).data)

    @extend_schema(operation_id="service_accounts_delete", request=None, responses={204: None})
    def delete(self, request: Request, name: str) -> Response:
        """Its tokens end at once; the name is not given again."""
        services.service_account_delete(name=name, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ServiceAccountRotateView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="service_accounts_rotate",
        request=ServiceAccountRotateSerializer,
        responses={201: NewServiceAccountSerializer, 400: TOO_LONG},
    )
    def post(self, request: Request, name: str) -> Response:
        """A fresh token, shown in this answer only; older ones work on for ``overlap_s``."""
        values = read_body(ServiceAccountRotateSerializer, request)
        overlap = timedelta(seconds=values.pop("overlap_s"))
        _, token = services.service_account_rotate(
            name=name, actor=actor(request), overlap=overlap, **values
        )
        return _with_token(name, token, status.HTTP_201_CREATED)
