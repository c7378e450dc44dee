"""What opens beside a password, as tables: codes by time, each once; recovery codes, each once."""

import pytest

from controlplane.accounts import second_factor
from controlplane.accounts.models import User
from controlplane.accounts.providers import roles_read
from controlplane.accounts.second_factor import STEP_S, Factor, accepted, code_at

KEY = b"of the installation"
SECRET = b"12345678901234567890"
NOW = 1_111_111_111.0
NOW_STEP = int(NOW // STEP_S)


@pytest.mark.parametrize(
    ("at", "code"),
    # RFC 6238, appendix B, SHA-1; the last six of its eight digits
    [(59, "287082"), (1111111109, "081804"), (1234567890, "005924"), (20000000000, "353130")],
)
def test_codes_are_those_of_the_standard(at: int, code: str) -> None:
    assert code_at(SECRET, at) == code
    assert accepted(Factor(SECRET), code, at, KEY) is not None


@pytest.mark.parametrize(
    ("steps", "opens"), [(-2, False), (-1, True), (0, True), (1, True), (2, False), (100, False)]
)
def test_a_clock_may_be_one_step_off(steps: int, opens: bool) -> None:
    code = code_at(SECRET, NOW + steps * STEP_S)
    found = accepted(Factor(SECRET), code, NOW, KEY)
    assert (found is not None) is opens
    if found is not None:
        assert (found.by, found.factor.last_step) == ("totp", NOW_STEP + steps)


@pytest.mark.parametrize(
    ("used", "tried", "opens"),
    [
        (0, 0, False),  # again
        (0, -1, False),  # an older one, seen before
        (1, 0, False),  # of a phone whose clock is ahead
        (-1, 0, True),
        (0, 1, True),
    ],
)
def test_no_code_opens_twice_nor_one_before_it(used: int, tried: int, opens: bool) -> None:
    first = accepted(Factor(SECRET), code_at(SECRET, NOW + used * STEP_S), NOW, KEY)
    assert first is not None
    again = accepted(first.factor, code_at(SECRET, NOW + tried * STEP_S), NOW, KEY)
    assert (again is not None) is opens


@pytest.mark.parametrize("typed", ["{0} {1}", " {0}-{1} ", "{0}\t{1}"])
def test_people_put_something_between(typed: str) -> None:
    code = code_at(SECRET, NOW)
    assert accepted(Factor(SECRET), typed.format(code[:3], code[3:]), NOW, KEY) is not None


@pytest.mark.parametrize(
    "code", ["", "0", "00000", "0000000", "12345a", "١٢٣٤٥٦", "６５４３２１", "-" * 60, "\0" * 6]
)
def test_what_is_no_code_opens_nothing(code: str) -> None:
    _, digests = second_factor.recovery_new(KEY)
    assert accepted(Factor(SECRET, recovery=digests), code, NOW, KEY) is None


def test_recovery_codes_open_once_each_in_any_spelling() -> None:
    clear, digests = second_factor.recovery_new(KEY)
    assert len(set(clear)) == len(digests) == second_factor.RECOVERY_CODES
    factor = Factor(SECRET, NOW_STEP, digests)
    for left, code in zip(range(len(clear) - 1, -1, -1), clear, strict=True):
        spelled = code.upper().replace("-", " ")
        found = accepted(factor, spelled, NOW, KEY)
        assert found is not None
        assert (found.by, len(found.factor.recovery)) == ("recovery", left)
        assert found.factor.last_step == NOW_STEP  # codes that were used stay used
        assert accepted(found.factor, code, NOW, KEY) is None
        factor = found.factor


def test_digests_of_recovery_codes_are_worth_nothing_elsewhere() -> None:
    [code, *_], digests = second_factor.recovery_new(KEY)
    assert accepted(Factor(SECRET, recovery=digests), code, NOW, b"another installation") is None
    assert accepted(Factor(SECRET, recovery=digests), digests[0], NOW, KEY) is None


def test_an_app_reads_the_secret_from_its_address() -> None:
    address = second_factor.uri(SECRET, username="ada", issuer="Shoal studio.example")
    assert address.startswith("otpauth://totp/Shoal%20studio.example:ada?")
    assert f"secret={second_factor.secret_text(SECRET)}" in address
    assert "period=30" in address


@pytest.mark.parametrize(
    ("role", "sign_in", "roles", "required"),
    [
        ("admin", "password", ("admin",), True),
        ("operator", "password", ("admin",), False),
        ("operator", "password", ("admin", "operator"), True),
        ("admin", "password", (), False),
        ("admin", "oidc", ("admin",), False),
        ("admin", "header", ("admin",), False),
        ("admin", "service", ("admin",), False),
        ("admin", "break_glass", ("admin",), False),
    ],
)
def test_of_whom_it_is_wanted(
    role: str, sign_in: str, roles: tuple[str, ...], required: bool
) -> None:
    user = User(role=role, sign_in=sign_in)
    assert second_factor.is_required(user, roles) is required


def test_roles_of_the_setting() -> None:
    assert roles_read(" admin, operator,") == ("admin", "operator")
    assert roles_read("") == ()
    with pytest.raises(ValueError, match="'root'"):
        roles_read("admin,root")
