"""Conda files as lists for pip: what is said otherwise, what is dropped, what is refused."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from shoal.entities import Environment
from shoal.sdk.requirements import NotMapped, requirements_of


def mapped(*dependencies: Any, base: Path = Path(), **more: Any) -> list[str]:
    conda = {"name": "env", "channels": ["conda-forge"], "dependencies": [*dependencies], **more}
    return requirements_of(Environment(conda_file=conda), base).text.splitlines()


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("numpy", "numpy"),
        ("numpy=1.23.5", "numpy==1.23.5.*"),
        ("numpy=1.23.*", "numpy==1.23.*"),
        ("numpy==1.23.5", "numpy==1.23.5"),
        ("numpy 1.23.5", "numpy==1.23.5"),
        ("numpy 1.23.*", "numpy==1.23.*"),
        ("numpy >=1.20,<2", "numpy>=1.20,<2"),
        ("numpy>=1.20, <2", "numpy>=1.20,<2"),
        ("numpy!=1.21", "numpy!=1.21"),
        ("conda-forge::scikit-learn=1.2", "scikit-learn==1.2.*"),
        ("pytorch::pytorch=2.1", "torch==2.1.*"),
        ("py-xgboost", "xgboost"),
    ],
)
def test_conda_says_it_and_pip_says_it(spec: str, line: str) -> None:
    assert mapped(spec) == [line]


def test_what_the_runtime_has_is_dropped_and_told() -> None:
    conda = {
        "dependencies": [
            "python=3.9",
            "pip=23.0",
            {"pip": ["azureml-defaults==1.53.0", "azureml_inference_server_http", "joblib==1.2.0"]},
        ]
    }
    found = requirements_of(Environment(conda_file=conda, image="mcr/base:1"), Path())
    assert found.text == "joblib==1.2.0\n"
    for word in ("python=3.9", "azureml-defaults", "azureml-inference-server-http", "mcr/base:1"):
        assert any(word in note for note in found.notes), word


def test_lines_for_pip_stay_and_lists_are_read(tmp_path: Path) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "more.txt").write_text("# more\npandas==2.0\n\nazureml-defaults\n")
    (tmp_path / "env" / "conda.yml").write_text(
        "dependencies:\n  - pip:\n    - inference-schema[numpy-support]\n"
        "    - --extra-index-url https://x/simple\n"
        "    - git+https://x/y.git@v1\n    - -r more.txt\n"
    )
    found = requirements_of(Environment(conda_file="env/conda.yml"), tmp_path)
    assert found.text.splitlines() == [
        "inference-schema[numpy-support]",
        "--extra-index-url https://x/simple",
        "git+https://x/y.git@v1",
        "pandas==2.0",
    ]


@pytest.mark.parametrize(
    ("dependencies", "words"),
    [
        (["cudatoolkit=11.3"], "'cudatoolkit=11.3' is no package of Python"),
        (["r-base"], "'r-base' is no package of Python"),
        (["numpy=1.2=py39_0"], "'numpy=1.2=py39_0': '=1.2=py39_0' has no words in pip"),
        (["numpy>=1|<3"], "has no words in pip"),
        (["numpy[version='>1']"], "has no words in pip"),
        (["???"], "is no package"),
        ([3], "expected a package"),
        ([{"npm": []}], "expected a package, or `pip:`"),
        ([{"pip": "numpy"}], "pip: expected a list of texts"),
        ([{"pip": 5}], "pip: expected a list of texts"),
        ([{"pip": [{"numpy": 1}]}], "pip: expected a list of texts"),
        ([{"pip": ["-e ."]}], "'-e .' names files that are not sent"),
        ([{"pip": ["./wheel.whl"]}], "names files that are not sent"),
        ([{"pip": ["-r none.txt"]}], "'-r none.txt'"),
        ([{"pip": ["-c limits.txt"]}], "names files that are not sent"),
        (["gcc", "cmake"], "'gcc' is no package of Python.*; 'cmake'"),
    ],
)
def test_what_cannot_be_mapped_is_refused_by_name(
    tmp_path: Path, dependencies: list[Any], words: str
) -> None:
    with pytest.raises(NotMapped, match=words):
        mapped(*dependencies, base=tmp_path)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (Environment(image="img:1"), "An image alone"),
        (Environment(build={"path": "."}), "environment.build"),
        (Environment(conda_file="none.yml"), "environment.conda_file: .*none.yml"),
        (Environment(conda_file={"variables": {}}), "variables; expected"),
        (Environment(conda_file={"channels": "x"}), "channels: expected a list of texts"),
        (Environment(conda_file={"channels": [date(2026, 1, 1)]}), "channels: expected a list"),
        (Environment(conda_file={"name": [1]}), "name: expected a text"),
        (Environment(conda_file={"dependencies": "numpy"}), "dependencies: expected a list"),
    ],
)
def test_an_environment_that_says_no_packages_is_refused(
    tmp_path: Path, environment: Any, words: str
) -> None:
    with pytest.raises(NotMapped, match=words):
        requirements_of(environment, tmp_path)


def test_without_an_environment_nothing_is_installed() -> None:
    assert requirements_of(None, Path()).text == ""
    assert requirements_of(Environment(name="none"), Path()).text == ""
