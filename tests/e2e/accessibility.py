"""What axe finds on a page: WCAG 2.2 A and AA, and best practice, in both themes."""

from functools import cache

from playwright.sync_api import Page

from tests.e2e.product import ROOT

AXE = ROOT / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# What is left to ask of the same page in other colours.
COLOUR_RULES = ["color-contrast", "link-in-text-block"]
RUN = """
async (asked) => {
  const found = await window.axe.run(document, { runOnly: asked });
  return found.violations.map((one) =>
    `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.target.join(" ")).join(", ")}`);
}
"""
# Colours between two themes are of neither: the page follows the system's a moment later.
SETTLED = """
(scheme) => document.documentElement.dataset.mantineColorScheme === scheme &&
  document.getAnimations().every((one) => one.playState !== "running")
"""
NARROW = {"width": 360, "height": 740}
WIDE = {"width": 1440, "height": 900}
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@cache
def axe() -> str:
    return AXE.read_text()


def violations(page: Page, *, narrow: bool = True) -> list[str]:
    """In dark and in light; with ``narrow`` also whether a page of 360 px scrolls sideways.

    Each names its rule and the first elements at fault.
    """
    found = []
    page.evaluate(axe())
    for scheme, asked in (("dark", TAGS), ("light", COLOUR_RULES)):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(SETTLED, arg=scheme)
        found += [f"{scheme}: {one}" for one in page.evaluate(RUN, asked)]
    if narrow:
        page.set_viewport_size(NARROW)
        if (beyond := page.evaluate(SIDEWAYS)) > 0:
            found.append(f"at 360 px the page is {beyond} px too wide")
        page.set_viewport_size(WIDE)
    return found
