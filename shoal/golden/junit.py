"""Outcomes as JUnit's XML, which continuous integration reads."""

from collections.abc import Sequence
from xml.etree import ElementTree as xml

from shoal.golden.running import Outcome


def junit(suite: str, outcomes: Sequence[Outcome]) -> str:
    failed = sum(bool(one.differences) for one in outcomes)
    errors = sum(bool(one.error) for one in outcomes)
    root = xml.Element(
        "testsuite",
        name=suite,
        tests=str(len(outcomes)),
        failures=str(failed),
        errors=str(errors),
        time=f"{sum(one.seconds for one in outcomes):.3f}",
    )
    for one in outcomes:
        case = xml.SubElement(
            root, "testcase", classname=one.model, name=one.case, time=f"{one.seconds:.3f}"
        )
        if not one.passed:
            kind = "error" if one.error else "failure"
            xml.SubElement(case, kind, message=one.text).text = one.text
    xml.indent(root)
    return xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
