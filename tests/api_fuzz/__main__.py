"""Schemathesis against a real control plane, with the token of each role.

    python -m tests.api_fuzz [--seconds 120] [--role admin] [--seed N]

Findings are answers of 500 and above, and answers that the OpenAPI document does not know: a
status, a content type, a shape. The exit code is 1 when there are any; reports stay in
.build/api-fuzz.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.support import reaper
from tests.support.installation import BIN, ROOT, Installation

REPORTS = ROOT / ".build" / "api-fuzz"
ROLES = ("admin", "operator", "deployer", "invoker", "viewer")
CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance",
)  # fmt: skip


# It asks a replica, and those of this run are simulated: 503 is the right answer.
UNSERVED = "deployments_served_config"


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def share(role: str, options: argparse.Namespace) -> int:
    """Seconds: whoever may do everything gets half, the others share the rest."""
    if len(options.role) == 1:
        return int(options.seconds)
    others = len(options.role) - ("admin" in options.role)
    return int(options.seconds // 2 if role == "admin" else options.seconds // 2 // others)


def fuzzed(
    place: Installation, facts: dict[str, dict[str, object]], role: str, options: argparse.Namespace
) -> bool:
    """True when nothing was found."""
    report = REPORTS / f"{role}.ndjson"
    command = [
        str(BIN / "st"), "run", f"{place.url}/api/v1/openapi.json",
        "--header", f"Authorization: Bearer {facts['tokens'][role]}",
        "--phases", "examples,coverage,fuzzing",
        "--checks", ",".join(CHECKS),
        "--max-examples", str(options.examples),
        "--max-time", str(share(role, options)),
        "--mode", "all", "--workers", "1", "--continue-on-failure", "--no-shrink",
        "--exclude-operation-id", UNSERVED,
        "--request-timeout", "30", "--suppress-health-check", "all", "--warnings", "off",
        "--report", "ndjson", "--report-ndjson-path", str(report),
        *(["--seed", str(options.seed)] if options.seed is not None else []),
    ]  # fmt: skip
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.api_fuzz.hooks",
        "SHOAL_API_FUZZ_KNOWN": json.dumps(facts["known"]),
        "SHOAL_API_FUZZ_SPARE": json.dumps(facts["spare"]),
        "NO_COLOR": "1",
    }
    log = REPORTS / f"{role}.log"
    with log.open("wb") as output:
        code = subprocess.run(
            command, env=environment, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, check=False
        ).returncode
    say(f"{role}: exit code {code}, {log}")
    if code:
        say(log.read_text()[-12_000:])
    return code == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.api_fuzz")
    parser.add_argument("--seconds", type=int, default=120, help="for all roles together")
    parser.add_argument("--examples", type=int, default=10, help="per operation and role")
    parser.add_argument("--role", action="append", choices=ROLES)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    reaper.guard()
    options.role = options.role or list(ROLES)
    REPORTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place = Installation(Path(folder) / "home")
        place.home.mkdir()
        try:
            place.prepare()
            facts = Path(folder) / "facts.json"
            place.run([sys.executable, "-m", "tests.api_fuzz.seeded", str(facts)])
            place.start_web()
            told = json.loads(facts.read_text())
            outcome = [fuzzed(place, told, role, options) for role in options.role]
            web = place.log("web")
        finally:
            place.stop()
    (REPORTS / "web.log").write_text(web)
    surprises = Counter(line for line in web.splitlines() if line.startswith("Traceback"))
    say(f"tracebacks in the web process's log: {surprises.total()}")
    return 0 if all(outcome) and not surprises else 1


if __name__ == "__main__":
    sys.exit(main())
