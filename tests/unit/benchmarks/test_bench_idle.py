"""Which program of an installation a process belongs to, and whether the promises are kept."""

import pytest

from benchmarks.idle import RUNTIME, Program, name_of, verdicts

PYTHON = "/venv/bin/python"
JOBS = (PYTHON, "-m", "controlplane.config.jobs")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ((PYTHON, "-m", "shoal.local"), "supervisor"),
        (("/x/redis-server unixsocket:/home/redis.sock",), "redis"),
        ((PYTHON, "-m", "controlplane.config.web_server", "--port", "1", "--port", "1"), "web"),
        ((PYTHON, "-m", "controlplane.config.agent_server"), "agents"),
        ((*JOBS, "worker", "-Q", "control", "--hostname", "control@%h"), "worker"),
        ((*JOBS, "worker", "-Q", "ingest", "--hostname", "ingest@%h"), "ingest"),
        ((*JOBS, "beat", "--schedule", "/home/beat/schedule"), "beat"),
        (("/x/envoy", "-c", "/home/gateway/bootstrap.json"), "envoy"),
        ((PYTHON, "-m", "controlplane.gateway.agent"), "gateway agent"),
        ((PYTHON, "-m", "node_agent"), "node agent"),
        ((PYTHON, "-P", "-m", "worker_runtime", "--model-repository=/x"), RUNTIME),
        ((), "?"),
    ],
)
def test_programs_are_told_apart(command: tuple[str, ...], name: str) -> None:
    assert name_of(list(command)) == name


def test_replicas_do_not_count() -> None:
    programs = {"web": Program(599.0, 0.02), "redis": Program(1.0, 0.01), RUNTIME: Program(9e9, 9)}
    assert [kept for kept, _ in verdicts(programs)] == [True, True]
    programs["web"].pss_mb += 1
    programs["web"].cores += 0.001
    assert [kept for kept, _ in verdicts(programs)] == [False, False]
