"""What the chart starts does start: its commands with its environment, until its probes succeed."""

from pathlib import Path
from typing import Any

import httpx

from tests.support.chart_processes import ChartProcesses

LASTING = ("agents/agents", "web/web", "gateway/envoy", "gateway/agent", "node-cpu/node")


def test_a_release_comes_up_and_a_node_leaves_it(tmp_path: Path) -> None:
    with ChartProcesses(tmp_path) as chart:
        done = chart.run("setup/setup")
        assert done.returncode == 0, done.stderr
        assert "First visit" in done.stdout
        done = chart.run("gateway/bootstrap")
        assert done.returncode == 0, done.stderr
        chart.start(*LASTING, "worker/worker")
        chart.wait_for(*LASTING)
        chart.wait_for("worker/worker", kind="livenessProbe")
        for name in ("agents/agents", "web/web", "gateway/envoy"):
            assert chart.answers(name, "livenessProbe")

        def shown(path: str) -> Any:
            headers = {"Authorization": f"Bearer {chart.token()}", "Host": "shoal-web.ml.svc:8080"}
            url = chart.url(8080, f"/api/v1/{path}")
            answer = httpx.get(url, headers=headers, trust_env=False, timeout=10)
            assert answer.status_code == 200, answer.text
            return answer.json()

        (node,) = shown("nodes")["items"]
        assert (node["name"], node["state"]) == ("shoal-node-cpu-x7k2p", "online")
        assert node["conditions"] == []
        parts = {(part["kind"], part["name"]): part["state"] for part in shown("system")["parts"]}
        assert parts["gateway", "shoal-gateway-x7k2p"] == "ok"
        done = chart.leave("node-cpu/node")
        assert done.returncode == 0, done.stderr
        assert shown("nodes")["items"] == []
        chart.end("gateway/envoy", "gateway/agent")
        parts = {(part["kind"], part["name"]): part["state"] for part in shown("system")["parts"]}
        assert ("gateway", "shoal-gateway-x7k2p") not in parts
