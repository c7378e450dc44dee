"""What is there before anything is measured, written as the control plane's own processes write."""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

NODES = """
import dataclasses, json, sys
import django
django.setup()
from django.utils import timezone
from controlplane.nodes.models import Node
from controlplane.nodes.types import credential_new, secret_hash
from tests.support.registered_models import model_register
rows, credentials, now = [], [], timezone.now()
for number in range(int(sys.argv[1])):
    key = f"{number:016x}"
    credentials.append(credential_new(key))
    rows.append(Node(
        id=key, name=f"node-{number}", credential_hash=secret_hash(credentials[-1]),
        info={"name": f"node-{number}", "backends": ["onnxruntime"], "cpu_count": 64,
              "disk_total_bytes": 10**12, "disk_free_bytes": 10**11},
        last_seen_at=now, online_since=now,
    ))
Node.objects.bulk_create(rows)
model_register()
json.dump(credentials, sys.stdout)
"""
# All of them in turn, as a program that rolls a model out does.
ROLL_OUT = """
import json, sys, time
import django
django.setup()
from django.utils import timezone
from controlplane.core import fanout
from controlplane.deployments.models import Replica
from controlplane.deployments.spec import Spec
from controlplane.operations import services
getattr(fanout, "keep_loop", lambda: None)()  # the older version of make prod-test has none
endpoints, replicas = int(sys.argv[1]), int(sys.argv[2])
began, cpu = time.monotonic(), time.process_time()
for number in range(endpoints):
    services.deploy(
        spec=Spec(model="digits", instance_count=replicas), endpoint=f"endpoint-{number}",
        deployment="", actor="scale", now=timezone.now(),
    )
json.dump({
    "seconds": time.monotonic() - began, "cpu": time.process_time() - cpu,
    "placed": Replica.objects.count(),
}, sys.stdout)
"""


@cache
def boot_id() -> str:
    """Of this machine: the nodes say that they are on it, so that loopback is a true address."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def command(script: str, *arguments: int) -> list[str]:
    return [sys.executable, "-c", script, *map(str, arguments)]


def decoded(output: bytes) -> Any:
    """The last line: what the script printed before it are warnings."""
    return json.loads(output.splitlines()[-1])
