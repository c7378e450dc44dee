"""The software bills of materials, CycloneDX as JSON: ``python deploy/sbom.py FOLDER``.

``python.cdx.json`` lists what is installed beside Shoal, ``studio.cdx.json`` the packages that the
studio is built from and with. Both are validated against CycloneDX's schema before they are kept.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).parents[1]
PYTHON = ["-m", "cyclonedx_py", "environment", "--no-validate", "--pyproject", "pyproject.toml"]
SHORT_GIT = re.compile(r"([\w.-]+@[\w.-]+):(?!//)(\S+)")
STUDIO = ["npm", "sbom", "--sbom-format", "cyclonedx"]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "python": output([sys.executable, *PYTHON, str(ROOT / ".venv" / "bin" / "python")], ROOT),
        "studio": output(STUDIO, ROOT / "frontend"),
    }
    for name, text in made.items():
        document = mended(json.loads(text))
        text = json.dumps(document, indent=1)
        version = SchemaVersion.from_version(document["specVersion"])
        if error := JsonStrictValidator(version).validate_str(text):
            say(f"{name}: not CycloneDX {document['specVersion']}: {error}")
            return 1
        file = folder / f"{name}.cdx.json"
        file.write_text(text, encoding="utf-8")
        count = len(document.get("components", []))
        say(f"{file}: {count} components, CycloneDX {document['specVersion']}, valid")
    return 0


def mended(document: dict[str, Any]) -> dict[str, Any]:
    """npm takes repositories over as packages write them: git's ``git@host:path`` is no URL."""
    for component in document.get("components", []):
        for reference in component.get("externalReferences", []):
            if found := SHORT_GIT.fullmatch(reference["url"]):
                reference["url"] = f"ssh://{found[1]}/{found[2]}"
    return document


def output(command: list[str], folder: Path) -> str:
    """What a program writes. Raises CalledProcessError; its own words go to stderr."""
    return subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
