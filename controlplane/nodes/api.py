"""REST of nodes that concerns no replica: join tokens."""

import shlex

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.policy import Permission
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.requests import read_query
from controlplane.nodes import selectors, services
from controlplane.nodes.serializers import JoinTokenSerializer, NewJoinTokenSerializer

JoinTokenPageSerializer = page_of(JoinTokenSerializer)


def command_for(token: str) -> str:
    return (
        f"SHOAL_CONTROL_URL={shlex.quote(settings.SHOAL_AGENT_URL)} "
        f"SHOAL_JOIN_TOKEN={token} python -m node_agent"
    )


class JoinTokensView(APIView):
    read_permission = write_permission = Permission.OPERATE

    @extend_schema(
        operation_id="join_tokens_list",
        parameters=PAGE_PARAMETERS,
        responses=JoinTokenPageSerializer,
    )
    def get(self, request: Request) -> Response:
        """Which tokens were made, and the node that each let in. The tokens themselves are gone."""
        query = read_query(PageQuery, request)
        page = paginate(
            selectors.join_token_list().filter(created_by__icontains=query["q"]),
            limit=query["limit"],
            cursor=query["cursor"],
            order=["-created_at", "-id"],
        )
        return Response(JoinTokenPageSerializer(page).data)

    @extend_schema(
        operation_id="join_tokens_create", request=None, responses={201: NewJoinTokenSerializer}
    )
    def post(self, request: Request) -> Response:
        """A token that lets one node join within the hour, and the command for that machine."""
        token = services.join_token_create(actor=request.user.get_username())
        row = JoinTokenSerializer(selectors.join_token_of(token)).data
        shown = {
            **row,
            "token": token,
            "command": command_for(token),
            "fingerprint": token.rpartition(".")[2],
        }
        return Response(shown, status=status.HTTP_201_CREATED)


class JoinTokenView(APIView):
    read_permission = write_permission = Permission.OPERATE

    @extend_schema(operation_id="join_tokens_get", responses=JoinTokenSerializer)
    def get(self, request: Request, token_id: int) -> Response:
        """To watch until a node has used it."""
        del request
        return Response(JoinTokenSerializer(selectors.join_token_get(token_id)).data)

    @extend_schema(operation_id="join_tokens_delete", request=None, responses={204: None})
    def delete(self, request: Request, token_id: int) -> Response:
        """It lets nobody in any more. A node that has used it stays."""
        services.join_token_delete(token_id=token_id, actor=request.user.get_username())
        return Response(status=status.HTTP_204_NO_CONTENT)
