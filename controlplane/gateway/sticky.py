"""Who gets a request by what it says of its sender: rules by header, and clients that stay. Pure.

Envoy draws a deployment by the hash of a header or a cookie where a split says so
(``use_hash_policy``): ``hash % 100`` is the client's slot, and the split lists deployments in the
order of slots (``deployments.slots``). It hashes a cookie and a header of one text alike, on which
the cookies that are set here rest.
"""

from typing import Any

from controlplane.deployments.selectors import RoutedEndpoint, Rule, Sticky

Match = dict[str, Any]
# What a cookie is made of: it must not bring attributes of its own into the answer.
REQUEST_ID = "x-request-id"
SAFE_ID = r"[A-Za-z0-9_-]{1,64}"


def header_match(rule: Rule) -> Match:
    if rule.kind == "present":
        return {"name": rule.header, "present_match": True}
    value = {"regex": rule.value} if rule.kind == "regex" else rule.value
    kind = "safe_regex" if rule.kind == "regex" else rule.kind
    return {"name": rule.header, "string_match": {kind: value}}


def sticky_routes(
    route: dict[str, Any], endpoint: RoutedEndpoint, *, cookies: bool
) -> list[dict[str, Any]]:
    """``route``, a split, as the endpoint's clients stay with a deployment: itself where they do
    not. ``cookies``: whether its clients keep those that they are given.
    """
    sticky = endpoint.sticky
    if sticky is None:
        return [route]
    if sticky.kind == "header":
        return [_by(route, {"header": {"header_name": sticky.name}})]
    brought = {"name": sticky.name, "string_match": {"safe_regex": {"regex": ".+"}}}
    by_cookie = _by(route, {"cookie": {"name": sticky.name}})
    match = {**route["match"], "cookies": [brought]}
    found = [{**by_cookie, "match": match}]
    if cookies:
        found += [_given(route, endpoint.name, sticky, secure=secure) for secure in (True, False)]
    return [*found, route]  # the last is for requests with an id of another kind


def _given(route: dict[str, Any], endpoint: str, sticky: Sticky, *, secure: bool) -> dict[str, Any]:
    """Who brings no cookie gets the id of this request as one, and is drawn by it now already.

    ``secure``: over TLS. Envoy says by which protocol a request came to it itself.
    """
    asked = [
        {"name": "x-forwarded-proto", "string_match": {"exact": "https" if secure else "http"}},
        {"name": REQUEST_ID, "string_match": {"safe_regex": {"regex": SAFE_ID}}},
    ]
    cookie = (
        f"{sticky.name}=%REQ({REQUEST_ID})%; Path=/endpoints/{endpoint}; "
        f"Max-Age={sticky.max_age_s}; HttpOnly; SameSite=Lax{'; Secure' if secure else ''}"
    )
    drawn = _by(route, {"header": {"header_name": REQUEST_ID}})
    match = drawn["match"]
    return {
        **drawn,
        "match": {**match, "headers": [*match["headers"], *asked]},
        "response_headers_to_add": [
            # why appended: a model's own cookies stay
            {"header": {"key": "set-cookie", "value": cookie}, "append_action": APPEND}
        ],
    }


def _by(route: dict[str, Any], policy: dict[str, Any]) -> dict[str, Any]:
    action = route["route"]
    split = {**action["weighted_clusters"], "use_hash_policy": True}
    return {**route, "route": {**action, "weighted_clusters": split, "hash_policy": [policy]}}


APPEND = "APPEND_IF_EXISTS_OR_ADD"
