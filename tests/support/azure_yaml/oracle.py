"""Asks the real azure-ai-ml what it makes of every file here, and prints it as JSON.

Run with a Python that has the package (requirements-azure.txt); see ``make azure-oracle``.
"""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

warnings.simplefilter("ignore")

from azure.ai.ml import load_model, load_online_deployment, load_online_endpoint  # noqa: E402

HERE = Path(__file__).parent


def kind_of(path: Path) -> str:
    return path.name.split(".")[1] if path.name.startswith("bad-") else path.name.split("-")[0]


def answer(path: Path) -> dict[str, Any]:
    kind = kind_of(path)
    load = {
        "endpoint": load_online_endpoint,
        "deployment": load_online_deployment,
        "model": load_model,
    }[kind]
    try:
        entity = load(path)
        values = entity._to_dict()
    except Exception as error:
        return {"kind": kind, "accepted": False, "error": type(error).__name__}
    text = json.dumps(values, sort_keys=True, default=str).replace(str(HERE), "<here>")
    return {"kind": kind, "accepted": True, "type": type(entity).__name__, "is": json.loads(text)}


if __name__ == "__main__":
    answers = {path.name: answer(path) for path in sorted(HERE.glob("*.yml"))}
    json.dump(answers, sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")
