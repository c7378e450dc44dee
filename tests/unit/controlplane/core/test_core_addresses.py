"""Whom the control plane calls for people, and whom it does not."""

from ipaddress import ip_address

import pytest

from controlplane.core.addresses import (
    AddressRefused,
    Allowed,
    judged,
    refuse,
    target,
    url_check,
)
from controlplane.core.errors import Invalid

NOTHING = Allowed("SHOAL_X", ())


@pytest.mark.parametrize(
    ("address", "scheme", "refused"),
    [
        ("127.0.0.1", "https", True),
        ("10.1.2.3", "https", True),
        ("192.168.1.1", "https", True),
        ("169.254.169.254", "https", True),  # of clouds, with credentials
        ("100.64.0.1", "https", True),
        ("0.0.0.0", "https", True),
        ("224.0.0.1", "https", True),
        ("240.0.0.1", "https", True),
        ("::1", "https", True),
        ("fe80::1", "https", True),
        ("fd00::1", "https", True),
        ("::ffff:127.0.0.1", "https", True),
        ("::ffff:169.254.169.254", "https", True),
        ("64:ff9b::7f00:1", "https", True),
        ("64:ff9b::a9fe:a9fe", "https", True),
        ("2002:7f00:1::", "https", True),
        ("::7f00:1", "https", True),  # an IPv4 address, as it was written long ago
        ("2001:0:1:2::", "https", True),  # Teredo
        ("fec0::1", "https", True),
        ("ff02::1", "https", True),
        ("fd00:ec2::254", "https", True),
        ("100.100.100.200", "https", True),
        ("168.63.129.16", "https", True),  # of a cloud, and in its public space
        ("1.1.1.1", "http", True),
        ("1.1.1.1", "https", False),
        ("2606:4700::1111", "https", False),
    ],
)
def test_only_public_addresses_are_called(address: str, scheme: str, refused: bool) -> None:
    if not refused:
        refuse(ip_address(address), "host", scheme, NOTHING)
        return
    with pytest.raises(AddressRefused):
        refuse(ip_address(address), "host", scheme, NOTHING)


def test_a_setting_allows_networks() -> None:
    allowed = Allowed("SHOAL_X", ("10.0.0.0/8",))
    refuse(ip_address("10.1.2.3"), "host", "http", allowed)
    refuse(ip_address("::ffff:10.1.2.3"), "host", "http", allowed)
    with pytest.raises(AddressRefused):
        refuse(ip_address("11.1.2.3"), "host", "http", allowed)


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1", "[::1]"])
def test_spellings_of_this_machine_are_refused(host: str) -> None:
    with pytest.raises(AddressRefused):
        target(f"https://{host}/hook", NOTHING)


def test_the_address_is_called_under_the_name() -> None:
    found = target("http://localhost:9/hook?x=1", Allowed("SHOAL_X", ("127.0.0.0/8", "::1/128")))
    assert found.authority == "localhost:9"
    assert found.url in ("http://127.0.0.1:9/hook?x=1", "http://[::1]:9/hook?x=1")


@pytest.mark.parametrize(
    "url",
    ["ftp://host/x", "host/x", "", "https://", "https://a:b@host/", "https://host:99999/",
     "https://ho st/", "https://host/" + "x" * 2000, "https://[::1/", "file:///etc/passwd",
     "https://host/\r\nX: y"],
)  # fmt: skip
def test_what_is_no_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        url_check(url)
    assert caught.value.field == "url"


def test_what_is_shown_of_a_url_is_its_host() -> None:
    shown = url_check("https://hooks.slack.com/services/T0/B0/secret")
    assert shown == "https://hooks.slack.com"


def test_all_addresses_of_a_name_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(2, 1, 6, "", ("1.1.1.1", 443)), (2, 1, 6, "", ("169.254.169.254", 443))]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: found)
    with pytest.raises(AddressRefused, match="SHOAL_X"):
        target("https://two.test/", NOTHING)
    assert judged("two.test", 443, "https", Allowed("SHOAL_X", ("169.254.0.0/16",))) == "1.1.1.1"
