"""REST of signatures, and of the keys whose signatures count."""

from django.conf import settings
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from controlplane.accounts.policy import Permission
from controlplane.accounts.project_views import ProjectAPIView
from controlplane.core.requests import read_body, read_query
from controlplane.registry import selectors
from controlplane.registry.models import ConfigRevision, ModelVersion, SigningKey
from controlplane.registry.serializers.signatures import (
    SignatureInputSerializer,
    SignaturesQuery,
    SignaturesSerializer,
    SigningKeyInputSerializer,
    SigningKeyListSerializer,
    SigningKeySerializer,
)
from controlplane.registry.services import signatures
from controlplane.registry.signature_state import signatures_of, version_digest, version_statement

SIGNED_REVISION = OpenApiParameter(
    "config_revision",
    int,
    description="default: the newest, as for deploying; 0: the files as they were registered",
)


def _revision(version: ModelVersion, number: int | None) -> ConfigRevision | None:
    if number is None:
        return max(version.config_revisions.all(), key=lambda row: row.number, default=None)
    return selectors.revision_get(version, number) if number else None


def _shown(version: ModelVersion, revision: ConfigRevision | None) -> dict[str, object]:
    digest = version_digest(version, revision)
    kept = signatures_of(digest)
    body = {
        "model": version.model.name,
        "version": version.version,
        "config_revision": revision.number if revision else 0,
        "digest": digest,
        "statement": version_statement(digest),
        "required": settings.SHOAL_SIGNATURE_POLICY == "require",
        "signed": any(signature.counts for signature in kept),
        "items": kept,
    }
    return dict(SignaturesSerializer(body).data)


class SignaturesView(ProjectAPIView):
    @extend_schema(
        operation_id="model_signatures_list",
        parameters=[SIGNED_REVISION],
        responses=SignaturesSerializer,
    )
    def get(self, request: Request, name: str, version: str) -> Response:
        """The statement to sign, and who has signed it."""
        query = read_query(SignaturesQuery, request)
        row = selectors.version_get(name, version)
        return Response(_shown(row, _revision(row, query["config_revision"])))

    @extend_schema(
        operation_id="model_signatures_add",
        request=SignatureInputSerializer,
        responses={
            201: SignaturesSerializer,
            400: OpenApiResponse(description="`SignatureInvalid`: not of a trusted key, or not it"),
        },
    )
    def post(self, request: Request, name: str, version: str) -> Response:
        """Bring a signature of the `statement`, made elsewhere: secret keys never come here."""
        values = read_body(SignatureInputSerializer, request)
        row = selectors.version_get(name, version)
        revision = _revision(row, values["config_revision"])
        signatures.signature_add(
            version=row,
            revision=revision,
            text=values["signature"],
            actor=request.user.get_username(),
        )
        return Response(_shown(row, revision), status=status.HTTP_201_CREATED)


class SigningKeysView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="signing_keys_list", responses=SigningKeyListSerializer)
    def get(self, request: Request) -> Response:
        """The public keys whose signatures count."""
        del request
        rows = SigningKey.objects.order_by("comment", "key_id")
        return Response(SigningKeyListSerializer({"items": rows}).data)

    @extend_schema(
        operation_id="signing_keys_add",
        request=SigningKeyInputSerializer,
        responses={
            201: SigningKeySerializer,
            400: OpenApiResponse(description="`SigningKeyInvalid`"),
            409: OpenApiResponse(description="`Conflict`: another key has this ID"),
        },
    )
    def post(self, request: Request) -> Response:
        """Have the signatures of a key count. Adding it again changes its comment."""
        values = read_body(SigningKeyInputSerializer, request)
        row = signatures.signing_key_add(
            text=values["public_key"],
            comment=values["comment"],
            actor=request.user.get_username(),
        )
        return Response(SigningKeySerializer(row).data, status=status.HTTP_201_CREATED)


class SigningKeyView(APIView):
    write_permission = Permission.ADMINISTER

    @extend_schema(operation_id="signing_keys_remove", request=None, responses={204: None})
    def delete(self, request: Request, key_id: str) -> Response:
        """Its signatures count no more. What they let run runs on."""
        signatures.signing_key_remove(key_id=key_id, actor=request.user.get_username())
        return Response(status=status.HTTP_204_NO_CONTENT)
