"""REST of channels: where alerts are told, and what came of it."""

from django.utils import timezone
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.permissions import actor
from controlplane.accounts.policy import Permission
from controlplane.alerts.selectors import channels as selectors
from controlplane.alerts.serializers.channels import (
    ChannelChangeSerializer,
    ChannelCompareSerializer,
    ChannelDifferencesSerializer,
    ChannelInputSerializer,
    ChannelMadeSerializer,
    ChannelSerializer,
    DeliverySerializer,
)
from controlplane.alerts.services import channels as services
from controlplane.alerts.services import deliveries
from controlplane.core.pagination import PAGE_PARAMETERS, PageQuery, page_of, paginate
from controlplane.core.rehearsal import DRY_RUN, ONLY_ASKED, rehearsable
from controlplane.core.requests import read_body, read_query

ChannelPageSerializer = page_of(ChannelSerializer)
DeliveryPageSerializer = page_of(DeliverySerializer)


class ChannelsView(APIView):
    read_permission = Permission.OPERATE
    write_permission = Permission.ADMINISTER

    @extend_schema(
        operation_id="channels_list", parameters=PAGE_PARAMETERS, responses=ChannelPageSerializer
    )
    def get(self, request: Request) -> Response:
        """By name, without URLs and secrets."""
        query = read_query(PageQuery, request)
        rows = selectors.channel_list()
        if query["q"]:
            rows = rows.filter(name__icontains=query["q"])
        page = paginate(rows, limit=query["limit"], cursor=query["cursor"], order=["name"])
        items = [selectors.channel_shown(row) for row in page.items]
        body = {"items": items, "next_cursor": page.next_cursor}
        return Response(ChannelPageSerializer(body).data)

    @extend_schema(
        operation_id="channels_create",
        parameters=[DRY_RUN],
        request=ChannelInputSerializer,
        responses={**ONLY_ASKED, 201: ChannelMadeSerializer},
    )
    @rehearsable
    def post(self, request: Request) -> Response:
        """Alerts that fire from now on, and their ends, are told there."""
        values = read_body(ChannelInputSerializer, request)
        row, secret = services.channel_create(actor=actor(request), **values)
        body = {**selectors.channel_shown(row), "secret": secret}
        return Response(ChannelMadeSerializer(body).data, status=status.HTTP_201_CREATED)


class ChannelView(APIView):
    read_permission = Permission.OPERATE
    write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="channels_get", responses=ChannelSerializer)
    def get(self, request: Request, channel: str) -> Response:
        del request
        return Response(
            ChannelSerializer(selectors.channel_shown(selectors.channel_get(channel))).data
        )

    @extend_schema(
        operation_id="channels_update",
        parameters=[DRY_RUN],
        request=ChannelChangeSerializer,
        responses={**ONLY_ASKED, 200: ChannelSerializer},
    )
    @rehearsable
    def patch(self, request: Request, channel: str) -> Response:
        values = read_body(ChannelChangeSerializer, request)
        row = services.channel_update(name=channel, actor=actor(request), **values)
        return Response(ChannelSerializer(selectors.channel_shown(row)).data)

    @extend_schema(
        operation_id="channels_delete",
        responses={204: OpenApiResponse(description="it is gone, with its deliveries")},
    )
    def delete(self, request: Request, channel: str) -> Response:
        services.channel_delete(name=channel, actor=actor(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ChannelCompareView(APIView):
    write_permission = Permission.ADMINISTER  # what may change them, since it tells of them

    @extend_schema(
        operation_id="channels_compare",
        request=ChannelCompareSerializer,
        responses=ChannelDifferencesSerializer,
    )
    def post(self, request: Request, channel: str) -> Response:
        """Tell which of URL and secret are others than those that are kept; change nothing."""
        values = read_body(ChannelCompareSerializer, request)
        found = services.channel_differences(name=channel, **values)
        return Response(ChannelDifferencesSerializer({"different": found}).data)


class ChannelTestView(APIView):
    write_permission = Permission.OPERATE

    @extend_schema(operation_id="channels_test", request=None, responses=DeliverySerializer)
    def post(self, request: Request, channel: str) -> Response:
        """Send a test now, and tell what came of it."""
        row = deliveries.channel_test(
            channel=selectors.channel_get(channel), actor=actor(request), now=timezone.now()
        )
        return Response(DeliverySerializer(selectors.delivery_shown(row)).data)


class DeliveriesView(APIView):
    read_permission = Permission.OPERATE

    @extend_schema(
        operation_id="deliveries_list",
        parameters=PAGE_PARAMETERS,
        responses=DeliveryPageSerializer,
    )
    def get(self, request: Request, channel: str) -> Response:
        """The newest first, with the latest ten tries of each; kept for 30 days."""
        query = read_query(PageQuery, request)
        rows = selectors.delivery_list(selectors.channel_get(channel))
        if query["q"]:
            rows = rows.filter(event__icontains=query["q"])
        order = ["-created_at", "-id"]
        page = paginate(rows, limit=query["limit"], cursor=query["cursor"], order=order)
        items = [selectors.delivery_shown(row) for row in page.items]
        body = {"items": items, "next_cursor": page.next_cursor}
        return Response(DeliveryPageSerializer(body).data)


class DeliveryReplayView(APIView):
    write_permission = Permission.OPERATE

    @extend_schema(
        operation_id="deliveries_replay", request=None, responses={201: DeliverySerializer}
    )
    def post(self, request: Request, channel: str, delivery_id: str) -> Response:
        """Send the same message once more, signed anew."""
        again = deliveries.delivery_replay(
            delivery=selectors.delivery_get(channel, delivery_id),
            actor=actor(request),
            now=timezone.now(),
        )
        body = selectors.delivery_shown(again)
        return Response(DeliverySerializer(body).data, status=status.HTTP_201_CREATED)
