"""Files as YAML: what is wrong is told with its line, and rubbish never as a traceback."""

from io import StringIO
from pathlib import Path

import pytest

from shoal import load_rollout
from shoal.cli.main import main
from shoal.entities import EntityInvalid
from shoal.entities.sources import MOST_VALUES, SourceUnreadable, read
from tests.support.shoal_server import FakeServer

LAUGHS = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: &a [*a]", "nested too deeply, or within itself"),
        ("a: &a {b: *a}", "nested too deeply, or within itself"),
        (f"a: {'[' * 3000}", "nested too deeply, or within itself"),
        (LAUGHS, f"more than {MOST_VALUES:,} values"),
        (f"a: {'9' * 5000}", "is not YAML"),
        ("a: 2026-13-45", "is not YAML"),
        ("a: 1\n\tb: 2", "line 2"),
        ("a: 1\n---\na: 2", "single document"),
        ("!!python/object:os.system x", "constructor"),
        ("a: \x00", "special characters"),
        ('a: "\\ud800"', "surrogates not allowed"),
        ("- a", "expected `key: value`, not list"),
        ("? [a, b]\n: c", "unhashable"),
        ("a: 1\nb: 2\na: 3", "line 3: a stands there twice, first in line 1"),
        ("a:\n- b: 1\n  b: 2", "line 3: a[0].b stands there twice, first in line 2"),
    ],
)
def test_rubbish_is_refused_in_words(text: str, told: str) -> None:
    with pytest.raises(SourceUnreadable) as error:
        read(StringIO(text))
    assert told in f"{error.value.title} {error.value.detail}"


def test_what_is_odd_and_yaml_is_read() -> None:
    values = read(StringIO("a: {2026-01-01: x, 1: y}\nbase: &b {c: 1}\nd: {<<: *b, e: 2}\n")).values
    assert values["a"] == {"2026-01-01": "x", "1": "y"}
    assert values["d"] == {"c": 1, "e": 2}
    assert read(StringIO("")).values == {}


def test_each_key_is_known_by_its_line() -> None:
    text = "# a comment\na: 1\nb:\n  c:\n  - d: 1\n    e: 2\n  - f\ng: {h: 1}\n"
    assert read(StringIO(text), params_override=[{"b.c": [], "g": {"h": 2}}]).lines == {
        "a": 2,
        "b": 3,
    }
    assert read(StringIO(text)).lines == {
        "a": 2, "b": 3, "b.c": 4, "b.c[0]": 5, "b.c[0].d": 5, "b.c[0].e": 6, "b.c[1]": 7, "g": 8,
        "g.h": 8,
    }  # fmt: skip


def test_faults_tell_the_line_unless_the_value_is_of_an_option(tmp_path: Path) -> None:
    file = tmp_path / "rollout.yml"
    file.write_text(
        "endpoint: net\nsteps:\n- percent: ten\n- percent: 100\n  hold_s: .inf\n"
        "guardrails:\n  errors: {tolerance: .nan, confidence: true}\nmin_requests: few\n"
    )
    with pytest.raises(EntityInvalid) as error:
        load_rollout(file, params_override=[{"min_requests": "none"}])
    assert error.value.detail.splitlines() == [
        "line 3, steps[0].percent: expected a whole number, not 'ten'",
        "line 5, steps[1].hold_s: expected a whole number, not inf",
        "line 7, guardrails.errors.tolerance: expected a number, not nan",
        "line 7, guardrails.errors.confidence: expected a number, not True",
        "min_requests: expected a whole number, not 'none'",
        "deployment: is missing",
    ]
    assert [fault.where for fault in error.value.faults][-1] == "deployment"


@pytest.mark.parametrize("text", [f"a: {'[' * 3000}", "a: 2026-13-45", "model: &a [*a]"])
def test_apply_refuses_rubbish_in_words(
    installed: FakeServer, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    Path("rubbish.yml").write_text(text)
    assert main(["apply", "-f", "rubbish.yml"]) == 1
    assert "rubbish.yml" in capsys.readouterr().err
    assert installed.calls == []
