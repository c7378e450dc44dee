"""Objects of an S3 bucket. botocore signs, and reads lists; ``web`` alone calls anybody."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote_plus

from controlplane.registry.errors import ImportFailed
from controlplane.registry.sources.addresses import Source
from controlplane.registry.sources.choosing import choose
from controlplane.registry.sources.found import Found, Remote
from controlplane.registry.sources.hub import filename_of
from controlplane.registry.sources.web import Web
from controlplane.registry.types import LIMIT_FILES

SIGNED_S: Final = 3600
LISTED_AT_A_TIME: Final = 1000


@dataclass(frozen=True, slots=True)
class Buckets:
    """Without keys nothing is signed, for public buckets: never the role of this machine."""

    endpoint: str = ""
    region: str = ""
    access_key: str = ""
    secret_key: str = ""

    def find(self, source: Source, web: Web) -> Found:
        """Raises ImportFailed."""
        client = self._client()
        folder = source.path.rpartition("/")[0]
        sizes = _listed(client, source, f"{folder}/" if folder else "", web)
        chosen = choose(list(sizes), source.path, source.shown)
        return Found(
            filename=filename_of(source, chosen.files, archive=chosen.archive),
            files=tuple(
                Remote(
                    path=path,
                    url=_signed(client, "get_object", Bucket=source.name, Key=at),
                    size=sizes[at],
                )
                for at, path in chosen.files.items()
            ),
            archive=chosen.archive,
        )

    def _client(self) -> Any:
        import boto3  # noqa: PLC0415 # half a second that others need not pay
        from botocore import UNSIGNED  # noqa: PLC0415
        from botocore.config import Config  # noqa: PLC0415

        return boto3.session.Session().client(
            "s3",
            endpoint_url=self.endpoint or None,
            region_name=self.region or "us-east-1",
            aws_access_key_id=self.access_key or None,
            aws_secret_access_key=self.secret_key or None,
            config=Config(
                signature_version="s3v4" if self.access_key else UNSIGNED,
                s3={"addressing_style": "path" if self.endpoint else "auto"},
            ),
        )


def _signed(client: Any, operation: str, **params: Any) -> str:
    url: str = client.generate_presigned_url(operation, Params=params, ExpiresIn=SIGNED_S)
    return url


def _listed(client: Any, source: Source, prefix: str, web: Web) -> dict[str, int | None]:
    """Key -> size, of all below the folder in which the path is: its data may lie beside it."""
    from botocore.parsers import ResponseParserError, create_parser  # noqa: PLC0415

    shape = client.meta.service_model.operation_model("ListObjectsV2").output_shape
    sizes: dict[str, int | None] = {}
    more: dict[str, Any] = {}
    while len(sizes) <= LIMIT_FILES:
        url = _signed(
            client,
            "list_objects_v2",
            Bucket=source.name,
            Prefix=prefix,
            MaxKeys=LISTED_AT_A_TIME,
            **more,
        )
        answer = {"status_code": 200, "headers": {}, "body": web.text(url)}
        try:
            found = create_parser("rest-xml").parse(answer, shape)
        except ResponseParserError as error:
            raise ImportFailed(
                f"The server of {source.shown} does not answer as S3 does.", code="ImportFailed"
            ) from error
        # why asked: botocore wants keys as URLs have them, and some servers know nothing of that
        plain = unquote_plus if found.get("EncodingType") == "url" else str
        sizes |= {plain(one["Key"]): one["Size"] for one in found.get("Contents", [])}
        token = found.get("NextContinuationToken")
        if not token or more.get("ContinuationToken") == token:
            break
        more = {"ContinuationToken": token}
    return sizes
