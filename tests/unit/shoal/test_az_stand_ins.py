"""What scripts call around `az ml`: answered, told once on stderr, or refused by name."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]
Az = Callable[[str], int]
WORKSPACE = (
    "/subscriptions/shoal/resourceGroups/shoal/providers/Microsoft.MachineLearningServices"
    "/workspaces/shoal"
)


@pytest.fixture
def az(installed: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Az:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/az"])
    return lambda line: main(line.split())


# Lines of public scripts, with what they take from them.
ANSWERED = [
    ("login --use-device-code --query [0].id -o tsv", "shoal"),
    ("login --service-principal -u a -p b --tenant c -o none", ""),
    ("logout", ""),
    ("version --query extensions.ml -o tsv", "2.0.0"),
    ("account show --query id -o tsv", "shoal"),
    ("account set -s 00000000-0000-0000-0000-000000000000", ""),
    ("account set --subscription shoal", ""),
    ("account list --query [].name -o tsv", "shoal"),
    ("group create -n rg -l westus2 --query name -o tsv", "rg"),
    ("group show --name rg --query location -o tsv", "local"),
    ("group exists -n rg", "true"),
    ("group list --query [].name -o tsv", "shoal"),
    ("group delete -n rg --yes --no-wait", ""),
    ("config get defaults.group --query value -o tsv", "shoal"),
    ("config get --query defaults[?name=='workspace'].value -o tsv", "shoal"),
    ("config set defaults.workspace=w defaults.group=g", ""),
    ("config unset defaults.group", ""),
    ("configure --defaults workspace=w group=g location=l", ""),
    ("configure -l --query [?name=='location'].value -o tsv", "local"),
    ("configure --list-defaults --query [].name -o tsv", "group\nlocation\nworkspace"),
    ("extension add --name ml --yes", ""),
    ("ml workspace show --name w -g rg --query id -o tsv", WORKSPACE),
    ("ml workspace show -n w --query location -o tsv", "local"),
    ("ml workspace list --query [].name -o tsv", "shoal"),
    ("ml workspace create -n w -g rg -f workspace.yml --query name -o tsv", "shoal"),
    ("ml workspace delete -n w --yes", ""),
    ("acr login -n registry", ""),
    ("acr show -n registry --query loginServer -o tsv", "registry.local"),
    ("acr build -t azureml-examples/triton:1 -r registry ./context", ""),
    ("storage account create -n st --sku Standard_LRS --query name -o tsv", "st"),
    ("storage container create --account-name st -n images --auth-mode login", None),
    ("storage blob upload --account-name st --container-name c --name x --file hello.txt", None),
    ("identity create --name uai --query clientId -o tsv", "shoal"),
    ("identity show -n uai --query principalId -o tsv", "shoal"),
    ("identity list --query [?name=='uai'].clientId -o tsv", ""),
    ("role assignment create --assignee x --role Reader --scope /y", None),
]


@pytest.mark.parametrize(("line", "expected"), ANSWERED, ids=[line for line, _ in ANSWERED])
def test_a_script_s_line_is_answered(
    az: Az, installed: FakeServer, capsys: Capture, line: str, expected: str | None
) -> None:
    assert az(line) == 0
    out, err = capsys.readouterr()
    if expected is not None:
        assert out.strip() == expected
    assert (installed.calls, err.count("Note: az ")) == ([], err.count("\n"))
    assert err.count("Note: az ") <= 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("login", "shoal login"),
        ("group delete -n rg --yes", "nothing is deleted"),
        ("ml workspace delete -n w", "nothing is deleted"),
        ("acr build -r r .", "no images"),
        ("storage blob upload -f x", "nothing is stored"),
        ("identity create -n uai", "no cloud identities"),
        ("config set defaults.group=g", "one workspace"),
    ],
)
def test_what_it_does_not_do_is_told_once(az: Az, capsys: Capture, line: str, said: str) -> None:
    assert az(line) == 0
    err = capsys.readouterr().err
    assert err.startswith("Note: az ") and err.count("\n") == 1
    assert said in err


def test_the_registry_s_name_is_where_scripts_cut_it_out(az: Az, capsys: Capture) -> None:
    assert az("ml workspace show -n w --query container_registry -o tsv") == 0
    assert capsys.readouterr().out.strip().split("/")[8] == "shoal"


@pytest.fixture
def served(az: Az, installed: FakeServer, tmp_path: Path, capsys: Capture) -> FakeServer:
    model = tmp_path / "models" / "net" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"graph")
    (tmp_path / "blue.yml").write_text("model: {name: net, version: 1, path: ./models}\n")
    assert az("ml online-endpoint create -n ep-1") == 0
    assert az("ml online-deployment create -n blue -e ep-1 -f blue.yml") == 0
    capsys.readouterr()
    return installed


AUTOSCALE = "monitor autoscale create --name a -g rg --min-count 2 --max-count 5"
BLUE = f"{WORKSPACE}/onlineEndpoints/ep-1/deployments/blue"


def test_autoscaling_is_a_policy_of_the_deployment(
    az: Az, served: FakeServer, capsys: Capture
) -> None:
    (row,) = served.endpoints["ep-1"]["deployments"]
    assert az(f"{AUTOSCALE} --resource {BLUE} --count 3") == 0
    out, err = capsys.readouterr()
    assert row["instance_count"] == 3
    assert row["autoscale"] == {
        "enabled": True, "min": 2, "max": 5, "targets": {"cpu_percent": 70}
    }  # fmt: skip
    assert json.loads(out)["profiles"][0]["capacity"] == {
        "default": "3", "maximum": "5", "minimum": "2"
    }  # fmt: skip
    assert "aims at 70 %" in err
    assert az(f"{AUTOSCALE} --resource {BLUE}") == 0  # what runs goes on
    assert row["instance_count"] == 3
    rule = "monitor autoscale rule create -g rg --autoscale-name a --scale out 2"
    assert az(f"{rule} --condition CpuUtilizationPercentage>70avg5m") == 0
    assert "has no effect" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        (f"{AUTOSCALE} --count 3", 2, "--resource"),
        (f"{AUTOSCALE} --resource /virtualMachines/x --count 3", 2, "online deployment"),
        (f"{AUTOSCALE} --resource {BLUE} --count 9", 2, "--count: 9"),
        (f"{AUTOSCALE} --resource {BLUE.replace('blue', 'red')}", 3, "red"),
        ("monitor metrics list", 2, "No such command 'metrics'"),
        ("vm create", 2, "No such command 'vm'"),
    ],
)
def test_what_cannot_be_is_refused(
    az: Az, served: FakeServer, capsys: Capture, line: str, status: int, said: str
) -> None:
    assert az(line) == status
    assert said in capsys.readouterr().err


def test_the_version_is_told(az: Az, capsys: Capture) -> None:
    assert az("--version") == 0
    assert capsys.readouterr().out.startswith("shoal ")
    assert az("version") == 0
    assert {"azure-cli", "extensions", "shoal"} <= json.loads(capsys.readouterr().out).keys()
