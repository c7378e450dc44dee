"""Placing alone: ``python -m tests.scale.placing``, CPU of a rollout without anybody else."""

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.scale import seeding
from tests.support import reaper
from tests.support.installation import ROOT, Installation

# They report to nobody, and stay online: of a node of the future nothing is overdue.
AWAKE = """
import sys
from datetime import timedelta
import django
django.setup()
from django.utils import timezone
from controlplane.nodes.models import Node
gpus = [
    {"index": card, "uuid": f"GPU-{card}", "name": "H100", "memory_total_bytes": 80 * 10**9,
     "memory_used_bytes": 0, "utilization": 0.1, "temperature_c": 40.0, "power_w": 100.0}
    for card in range(int(sys.argv[1]))
]
rows = list(Node.objects.all())
for row in rows:
    row.info["gpus"] = gpus
    row.last_seen_at = timezone.now() + timedelta(hours=1)
Node.objects.bulk_update(rows, ["info", "last_seen_at"], batch_size=200)
print("{}")
"""


def measured(home: Path, options: argparse.Namespace) -> Any:
    made = Installation(home)
    try:
        made.prepare()
        for script, arguments in (
            (seeding.NODES, (options.nodes,)),
            (AWAKE, (options.gpus,)),
            (seeding.ROLL_OUT, (options.endpoints, options.replicas)),
        ):
            done = subprocess.run(
                seeding.command(script, *arguments),
                env=made.environment, cwd=ROOT, stdout=subprocess.PIPE, check=True,
            )  # fmt: skip
        return seeding.decoded(done.stdout)
    finally:
        made.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.scale.placing", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--gpus", type=int, default=8, help="of each node")
    parser.add_argument("--endpoints", type=int, default=50)
    parser.add_argument("--replicas", type=int, default=4, help="of each endpoint")
    options = parser.parse_args()
    reaper.guard()
    with tempfile.TemporaryDirectory(prefix="shoal-placing-") as folder:
        found = measured(Path(folder), options)
    each = 1000 / found["placed"]
    print(
        f"{found['placed']} replicas on {options.nodes} nodes of {options.gpus} GPUs: "
        f"{found['cpu'] * each:.1f} ms of CPU each, {found['seconds'] * each:.1f} ms in all"
    )


if __name__ == "__main__":
    main()
