"""What opens an endpoint, as the REST API says it."""

from typing import TypedDict


class Keys(TypedDict):
    primaryKey: str
    secondaryKey: str


class EndpointToken(TypedDict):
    """Times are Unix seconds."""

    accessToken: str
    expiryTimeUtc: int
    refreshAfterTimeUtc: int
    tokenType: str
