"""`make helm`: says what the chart makes of each set of values, and packages it."""

import sys
from collections import Counter
from pathlib import Path

from tests.support.helm_chart import CHART, OPERATORS, ROOT, VALUES, helm, rendered


def main() -> None:
    folder = Path(sys.argv[1])
    for values in VALUES:
        documents = rendered(values)
        kinds = Counter(document["kind"] for document in documents)
        theirs = sum(document["apiVersion"] in OPERATORS for document in documents)
        shown = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        sys.stdout.write(
            f"  {values}: {len(documents)} documents, {theirs} of them of operators: {shown}\n"
        )
    folder.mkdir(parents=True, exist_ok=True)
    helm("package", CHART, "--destination", folder)
    for package in folder.glob("*.tgz"):
        sys.stdout.write(
            f"  packaged: {package.relative_to(ROOT)}, {package.stat().st_size / 1024:.0f} KiB\n"
        )


if __name__ == "__main__":
    main()
