"""The pages of models: list, overview, configuration, files, comparison, usage, activity."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from shoal.client import Client
from tests.e2e import console_zoo
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product
from tests.e2e.served import client_of

MODEL = "zoo-pages"


def pack(path: Path, *, batch: int, labels: str = "cat\ndog\n") -> Path:
    """A labelled model and a pipeline over it, with a text and a picture's worth of bytes."""
    net = console_zoo.echo("FP32", "2", batch=batch).replace(
        "dims: [ 2 ] }\ninstance", 'dims: [ 2 ] label_filename: "labels.txt" }\ninstance'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("echo_fp32/config.pbtxt", net)
        archive.writestr("echo_fp32/labels.txt", labels)
        archive.writestr("echo_fp32/1/weights.bin", bytes(range(256)) * 20)
        archive.writestr("pipeline/config.pbtxt", console_zoo.PIPELINE_CONFIG)
        archive.writestr("pipeline/1/", "")
    return path


@pytest.fixture
def client(product: Product, tmp_path: Path) -> Iterator[Client]:
    """Two versions of a model, anew for each test: some edit them, one deletes them."""
    with client_of(product) as client:
        for number, labels in enumerate(("cat\ndog\n", "cat\ndog\nfish\n")):
            upload = client.upload(pack(tmp_path / f"{number}.zip", batch=0, labels=labels))
            client.register_model(MODEL, upload["id"])
        try:
            yield client
        finally:
            delete_model(product, MODEL)


def delete_model(product: Product, name: str) -> None:
    url = f"{product.url}/api/v1/models/{name}"
    answer = httpx.delete(url, headers={"Authorization": f"Bearer {product.client['token']}"})
    assert answer.status_code == 204, answer.text


@pytest.fixture
def watched(client: Client, product: Product, browser: Browser) -> Iterator[WatchedPage]:
    watched = WatchedPage(browser, product.url)
    page = watched.page
    page.goto("/models")
    page.get_by_label("User name").fill(product.client["username"])
    page.get_by_label("Password", exact=True).fill(product.password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Models")).to_be_visible()
    try:
        yield watched
    finally:
        watched.close()
    assert watched.troubles == []


def tab(page: Page, name: str, version: int = 2) -> None:
    page.goto(f"/models/{MODEL}/versions/{version}/{name}")


def test_the_list_is_searched_and_filtered_by_the_server(watched: WatchedPage) -> None:
    page = watched.page
    page.get_by_label("Filter models").fill("zoo-pag")
    expect(page).to_have_url(re.compile("q=zoo-pag"))
    expect(page.get_by_role("status").get_by_text("1 model")).to_be_visible()
    watched.shoot("models")
    page.get_by_label("Filter models").fill("nothing is called so")
    expect(page.get_by_text("No model matches")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.get_by_role("link", name=MODEL)).to_be_visible()
    page.reload()
    page.get_by_role("link", name=MODEL).click()
    expect(page).to_have_url(re.compile(f"/models/{MODEL}/versions/2/overview"))


def test_the_overview_tells_tensors_labels_steps_and_checks(watched: WatchedPage) -> None:
    page = watched.page
    tab(page, "overview")
    expect(page.get_by_role("region", name="Ensemble graph")).to_contain_text("echo_fp32")
    watched.shoot("model-overview")
    page.get_by_role("combobox", name="Model of the repository").click()
    page.get_by_role("option", name="echo_fp32").click()
    expect(page.get_by_role("list", name="Labels of OUTPUT0")).to_contain_text("fish")
    expect(page.get_by_role("table", name="Inputs of echo_fp32")).to_contain_text("FP32")
    expect(page.get_by_text("The configuration fits the model.")).to_be_visible()


def test_aliases_are_set_moved_and_removed(watched: WatchedPage, client: Client) -> None:
    page = watched.page
    tab(page, "overview", 1)
    page.get_by_role("button", name="Alias", exact=True).click()
    page.get_by_label("Alias for version 1").fill("champion")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("button", name="Remove the alias champion")).to_be_visible()
    tab(page, "overview", 2)
    page.get_by_role("button", name="Alias", exact=True).click()
    page.get_by_role("button", name="Move @champion here").click()
    expect(page.get_by_role("button", name="Remove the alias champion")).to_be_visible()
    assert client.get_model(MODEL)["aliases"] == {"champion": 2}
    page.get_by_role("button", name="Remove the alias champion").click()
    expect(page.get_by_role("button", name="Remove the alias champion")).to_have_count(0)


def test_tags_are_kept_and_found(watched: WatchedPage, client: Client) -> None:
    page = watched.page
    tab(page, "overview")
    page.get_by_role("button", name=f"Edit: Description of {MODEL}, all versions").click()
    page.get_by_role("textbox", name="Description").fill("Two animals and a fish")
    page.get_by_label("Add a tag").fill("team=vision")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("team=vision")).to_be_visible()
    assert client.get_model(MODEL)["tags"] == {"team": "vision"}
    page.goto("/models?tag=team%3Dvision")
    expect(page.get_by_role("link", name=MODEL)).to_be_visible()
    page.goto("/models?tag=team%3Dsales")
    expect(page.get_by_text("No model matches")).to_be_visible()


def test_a_configuration_is_edited_checked_and_kept_as_a_revision(
    watched: WatchedPage, client: Client
) -> None:
    page = watched.page
    page.goto(f"/models/{MODEL}/versions/2/config?of=echo_fp32")
    editor = page.locator(".cm-content")
    expect(editor).to_contain_text("identity")
    save = page.get_by_role("button", name="Save as revision 1")
    expect(save).to_be_disabled()
    page.get_by_role("textbox", name="Max batch size").fill("8")
    expect(editor).to_contain_text("max_batch_size: 8")
    page.get_by_label("What changes").fill("batches of eight")
    expect(save).to_be_enabled()
    page.get_by_text("My changes", exact=True).click()
    expect(page.locator(".cm-deletedChunk")).to_contain_text("max_batch_size: 0")
    watched.shoot("model-config")
    save.click()
    expect(page.get_by_role("table", name="Revisions")).to_contain_text("batches of eight")
    revisions = client.get_model_version(MODEL, 2)["config_revisions"]
    assert [one["number"] for one in revisions] == [1]
    assert "max_batch_size: 8" in revisions[0]["configs"]["echo_fp32"]
    # What cannot be read is not kept.
    editor.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nnonsense {")
    expect(page.get_by_role("button", name="Save as revision 2")).to_be_disabled()


def test_files_are_looked_into(watched: WatchedPage) -> None:
    page = watched.page
    tab(page, "files")
    tree = page.get_by_role("tree", name="Files of the version")
    tree.get_by_role("treeitem", name=re.compile("labels.txt")).click()
    expect(page.get_by_role("table", name=re.compile("Labels in"))).to_contain_text("fish")
    tree.get_by_role("treeitem", name=re.compile("weights.bin")).click()
    expect(page.get_by_role("region", name=re.compile("First bytes"))).to_contain_text(
        "00000040  40 41 42"
    )
    watched.shoot("model-files")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowLeft")
    expect(tree.get_by_role("treeitem", name=re.compile("weights.bin"))).to_have_count(0)
    page.goto(f"/models/{MODEL}/versions/2/files?path=echo_fp32%2Fconfig.pbtxt")
    expect(page.get_by_role("region", name=re.compile("Contents of"))).to_contain_text("identity")


def test_versions_are_compared(watched: WatchedPage) -> None:
    page = watched.page
    tab(page, "compare")
    files = page.get_by_role("table", name="Files that differ")
    expect(files.get_by_role("row").nth(1)).to_contain_text("echo_fp32/labels.txt")
    expect(files.get_by_role("row").nth(1)).to_contain_text("Changed")
    watched.shoot("model-compare")


def test_a_version_in_use_is_not_deleted(watched: WatchedPage, client: Client) -> None:
    page = watched.page
    client.wait_operation(client.start_deploy(MODEL, 1, endpoint="uses-pages"))
    # That the server refuses belongs to the story.
    watched.expected = (f"/models/{MODEL}/versions/1",)
    tab(page, "usage", 1)
    expect(page.get_by_role("table", name=re.compile("Deployments"))).to_contain_text("uses-pages")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete version 1").click()
    page.get_by_role("button", name="Delete version 1").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("uses-pages")
    page.get_by_role("button", name="Cancel").click()
    tab(page, "activity", 1)
    expect(page.get_by_text(re.compile("registered", re.IGNORECASE)).first).to_be_visible()
    client.wait_operation(client.delete_endpoint("uses-pages"))
    tab(page, "usage", 1)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete version 1").click()
    page.get_by_role("button", name="Delete version 1").click()
    expect(page).to_have_url(re.compile(f"/models/{MODEL}/versions/2"))
