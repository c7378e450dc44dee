"""An unsaved configuration is checked beside unsaved neighbours, as the runtime completes them."""

from typing import Any

import pytest

from controlplane.registry import inspector
from controlplane.registry.errors import ModelNotFound
from controlplane.registry.services.configs import text_check

GRAPHS: dict[str, dict[str, Any] | None] = {"net": {"inputs": ["X"]}, "all": None}


def graph_of(model: str) -> dict[str, Any] | None:
    if model not in GRAPHS:
        raise ModelNotFound(model)
    return GRAPHS[model]


class Inspector:
    """Completes a text by one line, unless it is "broken"."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def ask(self, operation: str, **about: Any) -> dict[str, Any]:
        assert operation == "validate"
        around = about["neighbours"]
        self.asked.append({**about, "neighbours": None if around is None else dict(around)})
        broken = about["text"] == "broken"
        return {"ok": not broken, "effective": "" if broken else about["text"] + " completed"}


@pytest.mark.parametrize(
    ("neighbours", "others", "met"),
    [
        ({"net": "uploaded"}, {}, {"net": "uploaded"}),
        ({"net": "uploaded"}, {"net": "edited"}, {"net": "edited completed"}),
        ({"net": "uploaded"}, {"net": "broken"}, {"net": "broken"}),
        ({"net": "uploaded"}, {"all": "itself"}, {"net": "uploaded"}),
        (None, {"net": "edited"}, None),
    ],
    ids=["nothing edited", "an edited step", "a step that cannot be read", "itself", "text alone"],
)
def test_what_an_ensemble_meets(
    neighbours: dict[str, str] | None,
    others: dict[str, str],
    met: dict[str, str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Inspector()
    monkeypatch.setattr(inspector.configs, "ask", fake.ask)
    answer = text_check(
        text="mine", model="all", graph_of=graph_of, neighbours=neighbours, others=others
    )
    assert answer["effective"] == "mine completed"
    assert (fake.asked[-1]["model"], fake.asked[-1]["neighbours"]) == ("all", met)


def test_a_step_is_completed_from_its_own_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Inspector()
    monkeypatch.setattr(inspector.configs, "ask", fake.ask)
    text_check(text="mine", model="all", graph_of=graph_of, neighbours={}, others={"net": "edited"})
    assert [(one["model"], one["graph"]) for one in fake.asked] == [
        ("net", {"inputs": ["X"]}),
        ("all", None),
    ]


def test_a_neighbour_that_nobody_uploaded_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspector.configs, "ask", Inspector().ask)
    with pytest.raises(ModelNotFound, match="ghost"):
        text_check(
            text="mine", model="all", graph_of=graph_of, neighbours={}, others={"ghost": "x"}
        )
