"""Placement, the traffic rule, names, snippets: values in, values out."""

import ast
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from tritonclient.grpc import service_pb2

from controlplane.core.names import NameInvalid, name_check
from controlplane.core.sending import byte_range
from controlplane.deployments.errors import MirrorInvalid, TrafficInvalid
from controlplane.deployments.naming import colour_for, endpoint_name_for
from controlplane.deployments.placement import Need, Offer, place
from controlplane.deployments.selectors import addresses
from controlplane.deployments.snippets import Target, snippets, tensor
from controlplane.deployments.snippets_json import json_snippets
from controlplane.deployments.traffic import (
    mirror_check,
    moved_percent,
    traffic_check,
    traffic_shift,
    traffic_without,
)
from controlplane.deployments.types import size_text

OFFER = Offer(
    node_id="n1",
    name="one",
    state="online",
    age_s=1.0,
    cordoned=False,
    backends=frozenset({"onnxruntime"}),
    disk_total_bytes=10**9,
    disk_free_bytes=10**8,
    cache_bytes=0,
    replicas=0,
    siblings=0,
)
NEED = Need(ordinals=(0,), backends=frozenset({"onnxruntime", "ensemble"}), size_bytes=10**7)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"state": "offline", "age_s": 41.0}, "offline (last report 41 s ago)"),
        ({"state": "offline", "age_s": None}, "offline (never reported)"),
        ({"cordoned": True}, "cordoned: it takes no new replicas"),
        ({"backends": frozenset({"python"})}, "has no backend onnxruntime"),
        ({"disk_free_bytes": 10**6}, "1.0 MB of disk are free, the model has 10.0 MB"),
    ],
)
def test_a_node_that_cannot_take_it_says_why(changes: dict[str, object], reason: str) -> None:
    refused = place(NEED, [replace(OFFER, **changes)])  # type: ignore[arg-type]
    assert refused.unplaced == (0,)
    assert refused.why_not() == f"one: {reason}"


@pytest.mark.parametrize(
    "changes",
    [
        {"backends": frozenset()},
        {"disk_total_bytes": 0, "disk_free_bytes": 0},
        {"disk_free_bytes": 0, "cache_bytes": 10**8},
    ],
)
def test_what_a_node_does_not_say_or_can_free_is_no_hindrance(changes: dict[str, object]) -> None:
    assert place(NEED, [replace(OFFER, **changes)]).assigned  # type: ignore[arg-type]


def test_replicas_spread_before_they_share() -> None:
    two = replace(OFFER, node_id="n2", name="two", replicas=5)
    three = replace(OFFER, node_id="n3", name="three", siblings=1)
    placed = place(replace(NEED, ordinals=(0, 1, 2)), [OFFER, two, three])
    assert placed.assigned == ((0, "n1"), (1, "n2"), (2, "n3"))


def test_no_node_at_all() -> None:
    assert place(NEED, []).why_not() == "No node has joined yet."


UNREADY = {"slow": "has no ready replica", "new": "is Creating"}


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ({"blue": 50}, "add up to 50"),
        ({"blue": 60, "green": 60}, "add up to 120"),
        ({"blue": -10, "green": 110}, "no percentage"),
        ({"red": 100}, "no deployment red"),
        ({"blue": 90, "slow": 10}, r"^slow has no ready replica\.$"),
        ({"new": 90, "slow": 10}, r"^new is Creating\. slow has no ready replica\.$"),
    ],
)
def test_traffic_that_breaks_the_rule(traffic: dict[str, int], message: str) -> None:
    with pytest.raises(TrafficInvalid, match=message):
        traffic_check(traffic, deployments=["blue", "green", *UNREADY], unready=UNREADY)


@pytest.mark.parametrize(
    ("traffic", "kept"),
    [
        ({}, {}),
        ({"blue": 0, "slow": 0}, {}),
        ({"blue": 100}, {"blue": 100}),
        ({"blue": 90, "green": 10, "slow": 0}, {"blue": 90, "green": 10}),
    ],
)
def test_traffic_that_keeps_the_rule(traffic: dict[str, int], kept: dict[str, int]) -> None:
    known = ["blue", "green", *UNREADY]
    assert traffic_check(traffic, deployments=known, unready=UNREADY) == kept


shares = st.lists(st.integers(1, 100), min_size=0, max_size=5).map(
    lambda weights: {f"d{index}": weight for index, weight in enumerate(weights)}
)


@given(current=shares, percent=st.integers(0, 100), name=st.sampled_from(["d0", "new"]))
def test_a_shift_keeps_the_rule_whatever_was_there(
    current: dict[str, int], percent: int, name: str
) -> None:
    shifted = traffic_shift(current, name, percent)
    assert sum(shifted.values()) in (0, 100)
    assert all(0 < share <= 100 for share in shifted.values())
    if percent and (set(current) - {name}):
        assert shifted[name] == percent
    assert name not in traffic_without(current, name)


@pytest.mark.parametrize(
    ("before", "after", "moved"),
    [
        ({}, {}, 0),
        ({"blue": 100}, {"blue": 100}, 0),
        ({"blue": 100}, {"blue": 90, "green": 10}, 10),
        ({"blue": 50, "green": 50}, {"green": 100}, 50),
        ({}, {"blue": 100}, 100),
        ({"blue": 100}, {}, 100),
    ],
)
def test_how_much_moves(before: dict[str, int], after: dict[str, int], moved: int) -> None:
    assert moved_percent(before, after) == moved


@pytest.mark.parametrize("name", ["ab", "-abc", "abc-", "1abc", "a_b", "a" * 33, "", "äöü"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(NameInvalid):
        name_check(name, field="name")


@given(st.text(min_size=1, max_size=60))
def test_every_model_has_a_legal_endpoint_name(model: str) -> None:
    name_check(endpoint_name_for(model), field="name")


@pytest.mark.parametrize(
    ("existing", "idle", "broken", "colour"),
    [
        ([], [], [], "blue"),
        (["blue"], [], [], "green"),
        (["blue"], ["blue"], [], "green"),
        (["blue"], ["blue"], ["blue"], "blue"),
        (["blue", "green"], ["blue"], [], "blue"),
        (["blue", "green"], ["blue", "green"], ["green"], "green"),
        (["blue", "green"], [], [], None),
        (["blue", "other"], ["other"], ["other"], "green"),
    ],
)
def test_the_colour_of_the_next_deployment(
    existing: list[str], idle: list[str], broken: list[str], colour: str | None
) -> None:
    assert colour_for(existing, idle, broken) == colour


@pytest.mark.parametrize(
    ("header", "span"),
    [
        ("", (0, 99)),
        ("bytes=0-", (0, 99)),
        ("bytes=40-", (40, 99)),
        ("bytes=40-49", (40, 49)),
        ("bytes=40-4000", (40, 99)),
        ("bytes=100-", None),
        ("bytes=50-40", None),
        ("bytes=-10", (0, 99)),
    ],
)
def test_ranges(header: str, span: tuple[int, int] | None) -> None:
    assert byte_range(header, 100) == span


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (12_300_000, "12.3 MB"), (10**13, "10.0 TB")]
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert size_text(size) == text


def target(shape: list[int], datatype: str = "FP32") -> Target:
    spec = {"name": "a/b:0", "datatype": datatype, "shape": shape}
    return Target(
        endpoint="digits",
        scoring_uri="https://127.0.0.1:8443/endpoints/digits/",
        grpc_target="127.0.0.1:8443",
        ca_path="/home/o'neil/ca.pem",
        model="digits",
        inputs=(tensor(spec, 8),),
        outputs=("scale_0.tmp_1",),
    )


def test_unknown_axes_become_one_behind_a_batch_of_one() -> None:
    spec = {"name": "x", "datatype": "FP32", "shape": [-1, 3]}
    assert tensor(spec, 8).shape == (1, 1, 3)
    assert tensor(spec, 0).shape == (1, 3)


@pytest.mark.parametrize("datatype", ["FP32", "BYTES", "BOOL", "INT64", "BF16"])
@pytest.mark.parametrize("shape", [[2, 2], [3, 224, 224]])
def test_snippets_are_programs_that_name_the_real_tensors(shape: list[int], datatype: str) -> None:
    made = snippets(target(shape, datatype))
    for program in (made["python_http"], made["python_grpc"]):
        ast.parse(program)
        assert "'a/b:0'" in program
        assert "'scale_0.tmp_1'" in program
    words = shlex.split(made["curl"].replace("\\\n", " "))
    assert "https://127.0.0.1:8443/endpoints/digits/v2/models/digits/infer" in words
    assert "/home/o'neil/ca.pem" in words
    assert len(made["curl"]) < 2000


def test_only_a_certificate_that_is_there_is_named(tmp_path: Path, settings: Any) -> None:
    settings.SHOAL_TLS_DIR = tmp_path
    assert addresses("digits")["ca_path"] == ""
    (tmp_path / "ca.pem").touch()
    assert addresses("digits")["ca_path"] == str(tmp_path / "ca.pem")


def test_no_certificate_is_named_where_the_machine_s_own_trust_is_enough() -> None:
    anywhere = replace(target([2, 3]), ca_path="")
    made = snippets(anywhere) | json_snippets(anywhere)
    for program in made.values():
        assert not re.search(
            "cacert|ca_certs|root_certificates|verify|NODE_EXTRA_CA_CERTS", program
        ), program
    for name in ("python_http", "python_grpc", "python_requests"):
        ast.parse(made[name])
    shlex.split(made["curl"])


@pytest.mark.parametrize("datatype", ["FP32", "BYTES", "BOOL", "INT64", "BF16"])
def test_programs_without_triton_s_client_name_them_too(
    datatype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = json_snippets(target([2, 3], datatype))
    ast.parse(made["python_requests"])
    for program in made.values():
        assert "a/b:0" in program
        assert "digits/v2/models/digits/infer" in program or "ModelInfer" in program
    # what grpcurl is fed is a request that the protocol's own messages can hold
    prepare = shlex.split(made["grpcurl"].replace("\\\n", " "))
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-c", prepare[prepare.index("-c") + 1]], check=True)
    request = json_format.Parse(Path("request.json").read_text(), service_pb2.ModelInferRequest())
    assert request.model_name == "digits"
    assert list(request.inputs[0].shape) == [1, 2, 3]
    sizes = {"FP32": 24, "BYTES": 48, "BOOL": 6, "INT64": 48, "BF16": 12}
    assert len(request.raw_input_contents[0]) == sizes[datatype]
    assert b"ModelInfer" in Path("triton.protoset").read_bytes()


@pytest.mark.parametrize(
    ("mirror", "message"),
    [
        ({"red": 10}, "no deployment red"),
        ({"green": 51}, "0 to 50 percent"),
        ({"green": -1}, "0 to 50 percent"),
        ({"blue": 10}, "answers 100 %"),
        ({"green": 10, "slow": 10}, "One deployment at most"),
    ],
)
def test_mirrors_that_break_the_rule(mirror: dict[str, int], message: str) -> None:
    with pytest.raises(MirrorInvalid, match=message):
        mirror_check(mirror, deployments=["blue", "green", "slow"], traffic={"blue": 100})


def test_mirrors_that_keep_the_rule() -> None:
    known, traffic = ["blue", "green"], {"blue": 100}
    assert mirror_check({"green": 10}, deployments=known, traffic=traffic) == {"green": 10}
    assert mirror_check({"green": 0, "gone": 0}, deployments=known, traffic=traffic) == {}
