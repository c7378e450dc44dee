"""What axe finds on a page: WCAG 2.2 A and AA, and good practice."""

from pathlib import Path

from playwright.sync_api import Page

from tests.e2e.product import ROOT

SOURCE = Path(ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js")
TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]


def violations(page: Page) -> list[str]:
    """Each with its rule and the first elements at fault."""
    page.evaluate(SOURCE.read_text())
    found = page.evaluate("tags => axe.run(document, { runOnly: tags })", TAGS)
    return [
        f"{each['id']}: {', '.join(' '.join(node['target']) for node in each['nodes'][:3])}"
        for each in found["violations"]
    ]
