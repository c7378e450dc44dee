"""What opens an endpoint."""

from dataclasses import dataclass

from shoal.entities.base import Block


@dataclass(kw_only=True)
class EndpointAuthKeys(Block):
    primary_key: str | None = None
    secondary_key: str | None = None


@dataclass(kw_only=True)
class EndpointAuthToken(Block):
    """``expiry_time_utc`` and ``refresh_after_time_utc`` are Unix seconds."""

    access_token: str | None = None
    expiry_time_utc: int = 0
    refresh_after_time_utc: int = 0
    token_type: str = "Bearer"  # noqa: S105 - the scheme, no secret
