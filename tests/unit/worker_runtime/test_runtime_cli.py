"""The command line: Triton's spellings, clear refusals."""

from pathlib import Path

import pytest

from worker_runtime.cli import HelpRequested, UsageError, help_text, parse
from worker_runtime.flags import FLAGS
from worker_runtime.settings import Settings


def settings(tmp_path: Path, *arguments: str) -> Settings:
    return parse([f"--model-repository={tmp_path}", *arguments])


def test_defaults_are_those_of_triton(tmp_path: Path) -> None:
    found = settings(tmp_path)
    assert (found.http.port, found.grpc.port, found.metrics.port) == (8000, 8001, 8002)
    assert found.http.address == "0.0.0.0"
    assert found.exit_on_error
    assert found.strict_readiness
    assert found.load_models is None


def test_both_spellings_of_values(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        "--http-port",
        "1",
        "--grpc-port=2",
        "--id",
        "me",
        "--exit-on-error",
        "false",
        "--strict-readiness=0",
        "--disable-auto-complete-config",
    )
    assert (found.http.port, found.grpc.port, found.server_id) == (1, 2, "me")
    assert not found.exit_on_error
    assert not found.strict_readiness
    assert not found.auto_complete


def test_metrics_listen_where_http_does_unless_told(tmp_path: Path) -> None:
    assert settings(tmp_path, "--http-address=127.0.0.1").metrics.address == "127.0.0.1"
    found = settings(tmp_path, "--http-address=127.0.0.1", "--metrics-address=::1")
    assert found.metrics.address == "::1"


def test_explicit_mode(tmp_path: Path) -> None:
    explicit = "--model-control-mode=explicit"
    assert settings(tmp_path, explicit).load_models == ()
    found = settings(tmp_path, explicit, "--load-model=a", "--load-model", "b")
    assert (found.explicit, found.load_models) == (True, ("a", "b"))
    assert settings(tmp_path, explicit, "--load-model=*").load_models is None


def test_backend_config(tmp_path: Path) -> None:
    found = settings(
        tmp_path, "--backend-config=default-max-batch-size=8", "--backend-config=onnxruntime,k=v=w"
    )
    assert found.backend_settings == {
        "": {"default-max-batch-size": "8"},
        "onnxruntime": {"k": "v=w"},
    }


def test_flags_without_effect_are_accepted_with_a_warning(tmp_path: Path) -> None:
    found = settings(tmp_path, "--http-thread-count=8", "--rate-limit", "off")
    assert found.warnings == (
        "--http-thread-count has no effect here",
        "--rate-limit has no effect here",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--htp-port=1"], "unknown option --htp-port: did you mean --http-port?"),
        (["--zzzzz"], "unknown option --zzzzz"),
        (["stray"], "unexpected argument 'stray'"),
        (["--http-port"], "--http-port needs a value"),
        (["--http-port=many"], "--http-port: 'many' is not a whole number"),
        (["--http-port=70000"], "up to 65535"),
        (["--exit-on-error=maybe"], "'maybe' is not a boolean"),
        (["--load-model=a"], "--load-model needs --model-control-mode=explicit"),
        (["--model-control-mode=poll"], "poll is not available"),
        (
            ["--model-control-mode=explicit", "--load-model=*", "--load-model=a"],
            "cannot be combined",
        ),
        (["--grpc-use-ssl=true"], "TLS is the gateway's business"),
        (["--backend-config=nonsense"], "is not [<backend>,]<key>=<value>"),
        (["--model-repository=/no/such/place"], "/no/such/place is not a directory"),
    ],
)
def test_wrong_command_lines_are_refused(
    tmp_path: Path, arguments: list[str], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        settings(tmp_path, *arguments)
    assert message in str(caught.value)


def test_the_repository_is_required() -> None:
    with pytest.raises(UsageError, match="--model-repository must be specified"):
        parse([])


def test_help_names_every_flag() -> None:
    with pytest.raises(HelpRequested):
        parse(["--help"])
    text = help_text()
    assert all(f"--{flag.name}" in text for flag in FLAGS)
