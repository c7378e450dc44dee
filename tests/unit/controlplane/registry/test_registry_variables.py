"""Variables of deployments: what brings no code is on a list, all else needs who may bring it."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.registry.models import Upload
from controlplane.registry.variables import code_in_variables, rules_read

Send = Callable[..., Upload]
HOSTILE = [
    "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "GLIBC_TUNABLES",
    "PATH", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONWARNINGS", "PYTHONBREAKPOINT",
    "OPENSSL_CONF", "OPENSSL_MODULES", "OPENSSL_ENGINES", "PIP_INDEX_URL", "PIP_CONFIG_FILE",
    "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "HOME", "TMPDIR", "TMP", "CUDA_INJECTION64_PATH",
    "CUDA_VISIBLE_DEVICES", "CUDA_CACHE_PATH", "GIO_EXTRA_MODULES", "MALLOC_TRACE",
    "MALLOC_ARENA_MAX", "NVIDIA_VISIBLE_DEVICES", "ORT_DYLIB_PATH", "TORCH_HOME", "TORCH_LOGS",
    "TORCHINDUCTOR_CACHE_DIR", "KMP_AFFINITY", "OMP_TOOL_LIBRARIES", "MKL_VERBOSE_OUTPUT_FILE",
    "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "ALL_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "TRITON_SERVER_CPU_ONLY", "GCONV_PATH", "LOCPATH",
    "NLSPATH", "BASH_ENV", "ENV", "IFS", "BROWSER", "PERL5OPT", "NODE_OPTIONS", "EDITOR",
    "HF_HOME", "TRANSFORMERS_CACHE", "TF_XLA_FLAGS", "XLA_FLAGS", "OV_CACHE_DIR", "SHOAL_HOME",
    "model_path", "APP", "MODEL", "XAPP_A", "OMP_NUM_THREADS ", "omp_num_threads",
]  # fmt: skip
HARMLESS = {
    "OMP_NUM_THREADS": "2", "TZ": "Europe/Zurich", "LANG": "de_CH.UTF-8", "LC_ALL": "C",
    "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0", "TF_CPP_MIN_LOG_LEVEL": "2",
    "MODEL_THRESHOLD": "0.5", "APP_CONFIG": "/any/thing", "AZUREML_MODEL_DIR": "/var/azureml",
    "TOKENIZERS_PARALLELISM": "false", "LOG_LEVEL": "info",
}  # fmt: skip


@pytest.fixture
def digits(ingested: Send, api: APIClient) -> None:
    upload = ingested("digits.onnx", b"a model")
    assert api.post("/api/v1/models", {"name": "digits", "upload_id": upload.pk}).status_code == 201


def deploy(client: APIClient, **more: Any) -> Any:
    return client.post("/api/v1/deploy", {"model": "digits", **more}, format="json")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_variable_that_is_on_no_list_is_code(name: str) -> None:
    assert list(code_in_variables({name: "1"})) == [name]


def test_harmless_variables_and_the_model_s_own_are_none() -> None:
    assert code_in_variables(HARMLESS) == {}
    assert code_in_variables(dict.fromkeys(HOSTILE)) == {}, "taking one away brings nothing"


@pytest.mark.parametrize(
    "value", ["/var/lib/x", ":/etc/shadow", "../../1/weights.bin", "~/x", "a/../../b", "\\x"]
)
def test_a_harmless_variable_that_names_a_file_is_code(value: str) -> None:
    assert list(code_in_variables({"TZ": value})) == ["TZ"]


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize("field", ["environment", "secret_environment"])
@pytest.mark.parametrize("name", ["LD_PRELOAD", "OPENSSL_CONF", "PIP_INDEX_URL", "HOME"])
def test_a_deployer_is_told_the_variable_and_the_rule(
    api: APIClient, name: str, field: str
) -> None:
    answer = deploy(api, **{field: {"OMP_NUM_THREADS": "1", name: "/tmp/x"}})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (403, "CodeNotAllowed")
    assert (problem["field"], problem["variables"]) == (f"environment.{name}", [name])
    assert f"environment.{name}: it is not on the list" in problem["detail"]
    assert any("APP_*, AZUREML_*, MODEL_*" in hint for hint in problem["hints"])


@pytest.mark.usefixtures("digits")
def test_an_administrator_may_set_any_and_others_the_harmless(
    api: APIClient, admin_api: APIClient
) -> None:
    own = {"PYTHONPATH": "/opt/own"}
    assert deploy(admin_api, endpoint="one", environment=own).status_code == 202
    assert deploy(api, endpoint="two", environment=HARMLESS).status_code == 202
    assert deploy(api, endpoint="two-b", secret_environment={"APP_KEY": "s"}).status_code == 202


@pytest.mark.usefixtures("digits")
def test_the_installation_allows_more_names(api: APIClient, settings: Settings) -> None:
    settings.SHOAL_ALLOWED_VARIABLES = rules_read("HTTPS_PROXY, ACME_*")
    given = {"HTTPS_PROXY": "http://proxy:3128", "ACME_MODE": "fast"}
    assert deploy(api, environment=given).status_code == 202
    assert deploy(api, endpoint="b", environment={"HTTP_PROXY": "x"}).status_code == 403


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("*", "expected NAME or PREFIX_*"),
        ("L*", "expected NAME or PREFIX_*"),
        ("LD_*", "LD_* can have files run"),
        ("LD_PRELOAD", "LD_* can have files run"),
        ("PYTHON_*", "PYTHON* can have files run"),
        ("PYTHONPATH", "PYTHON* can have files run"),
        ("PATH", "PATH* can have files run"),
        ("OPENSSL_*", "OPENSSL_* can have files run"),
        ("CUDA_*", "CUDA_* can have files run"),
        ("SSL_*", "SSL_* can have files run"),
        ("ACME_*_*", "expected NAME or PREFIX_*"),
        ("acme_*", "in capital letters"),
        ("ACME,HOME", "HOME* can have files run"),
    ],
)
def test_a_setting_cannot_admit_what_loaders_read(rule: str, told: str) -> None:
    with pytest.raises(ValueError, match=r".") as refused:
        rules_read(rule)
    assert told in str(refused.value)


@pytest.mark.usefixtures("digits")
def test_put_and_update_ask_the_same_and_let_stay_what_was_there(
    api: APIClient, admin_api: APIClient
) -> None:
    admin_api.post("/api/v1/endpoints", {"name": "one"})
    url = "/api/v1/endpoints/one/deployments/blue"
    body = {"model": "digits", "version": "1", "environment": {"LD_PRELOAD": "/tmp/x"}}
    assert api.put(url, body).json()["code"] == "CodeNotAllowed"
    assert admin_api.put(url, body).status_code == 201
    again = {**body, "description": "said by somebody else"}
    assert api.put(url, again).json().get("code") != "CodeNotAllowed"
    changed = {**body, "environment": {"LD_PRELOAD": "/tmp/y"}}
    assert api.put(url, changed).json()["code"] == "CodeNotAllowed"
    for field in ("environment", "secret_environment"):
        answer = api.post(f"{url}/update", {field: {"OPENSSL_CONF": "/tmp/y"}})
        assert answer.json()["code"] == "CodeNotAllowed"
    post = "/api/v1/endpoints/one/deployments"
    fresh = {**body, "name": "green", "version": "1"}
    assert api.post(post, fresh).json()["code"] == "CodeNotAllowed"
