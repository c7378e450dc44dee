"""Which texts are the address of one machine, and how it is spelled."""

import pytest

from wire.addresses import host_address, is_loopback


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.9.9.9", "127.9.9.9"),
        ("::1", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("2001:DB8:0:0::00A", "2001:db8::a"),
        ("fd12:3456::1", "fd12:3456::1"),
    ],
)
def test_an_address_has_one_spelling(text: str, spelled: str) -> None:
    assert host_address(text) == spelled
    assert is_loopback(spelled) == (spelled.startswith("127.") or spelled == "::1")


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "not an address", "localhost", "gpu-a1.example", "10.0.0.1:80", "[::1]",
        "10.0.0.1 ",
        "010.0.0.1", "10.1", "0x7f000001", "2130706433", "٣.1.1.1", "10.0.0.1/24", "10.0.0.1\n",
        "10.0.0.1\0", "0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "255.255.255.255", "240.0.0.1",
        "ff02::1",
        "169.254.169.254", "fe80::1", "fe80::1%eth0", "fd00::1%lo", "::1%lo", "::ffff:10.0.0.1",
        "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "fd00:ec2::254",
        "100.100.100.200", "168.63.129.16", "/run/admin.sock", "a" * 100_000,
    ],
)  # fmt: skip
def test_what_is_no_machines_own_address(text: str) -> None:
    with pytest.raises(ValueError, match="expected the IPv4 or IPv6 address of one machine"):
        host_address(text)
