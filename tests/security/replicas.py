"""A hostile model that somebody approved: what it gets of the machine through its sandbox."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psutil

from shoal.client import Client
from tests.security.ground import Ground
from tests.security.tries import Try
from tests.support import hostile
from tests.support.hostile_targets import targets

PART = "replicas"
# What this part is asked under: the strictest network, and limits that are soon met.
DISK_BYTES = 8 << 20
SETTINGS = {
    "SHOAL_SANDBOX_NETWORK": "none",
    "SHOAL_SANDBOX_DISK_BYTES": str(DISK_BYTES),
    "SHOAL_SANDBOX_PROCESSES": "100",
}


def tries(ground: Ground) -> Iterator[Try]:
    files = {
        "hostile/1/model.py": Path(hostile.__file__).read_bytes(),
        "hostile/config.pbtxt": hostile.CONFIG.encode(),
    }
    with ground.shoal("admin") as admin, ExitStack() as stack:
        version = admin.register_model("hostile", ground.upload(admin, "hostile", files))
        for endpoint in ("attacker", "sibling"):
            started = admin.start_deploy(version["model"], version["version"], endpoint=endpoint)
            admin.wait_operation(started, timeout_s=120)
        holds = admin.get_node("local")["info"]["sandbox"]
        home = ground.product.home
        port = int(ground.product.url.rpartition(":")[2])
        attacker, _ = _replica(admin, home, "attacker")
        sibling, pid = _replica(admin, home, "sibling")
        to = targets(
            stack, home / "node", attacker, sibling, agent_pid=_agent(home), sibling_pid=pid,
            port=port, disk_bytes=DISK_BYTES,
        )  # fmt: skip
        key = admin.get_keys("attacker")["primaryKey"]
        for attempt in hostile.ATTEMPTS:
            found = _asked(ground, key, attempt.name, to)
            kept = [name for name in attempt.by if holds.get(name)]
            if "held" in found:
                yield Try(PART, attempt.name, "held", found["held"])
            else:
                why = found["got"] if kept else f"needs {' or '.join(attempt.by)} of the kernel"
                yield Try(PART, attempt.name, "BROKEN" if kept else "not here", why)


def _replica(admin: Client, home: Path, endpoint: str) -> tuple[str, int]:
    """The only replica's id, and the process that serves it."""
    (deployment,) = admin.get_endpoint(endpoint)["deployments"]
    (row,) = deployment["replicas"]
    flag = f"--model-repository={home}/node/replicas/{row['id']}/repository"
    (process,) = (one for one in psutil.process_iter(["cmdline"])
                  if flag in (one.info["cmdline"] or ()))  # fmt: skip
    return row["id"], process.pid


def _agent(home: Path) -> int:
    pid: int = json.loads((home / "node" / "agent.json").read_text())["pid"]
    return pid


def _asked(ground: Ground, key: str, name: str, to: dict[str, Any]) -> dict[str, str]:
    tensor = {
        "name": "REQUEST", "datatype": "BYTES", "shape": [1],
        "data": [json.dumps({"name": name, "to": to})],
    }  # fmt: skip
    answer = httpx.post(
        f"{ground.product.client['gateway_plain_url']}/endpoints/attacker/v2/models/hostile/infer",
        json={"inputs": [tensor]},
        headers={"Authorization": f"Bearer {key}"},
        timeout=120,
    )
    found: dict[str, str] = json.loads(answer.raise_for_status().json()["outputs"][0]["data"][0])
    return found
