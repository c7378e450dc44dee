"""Deploying each kind of file, and what the wizard does for people who got something wrong."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e import tiny_model, wizard, wizard_models
from tests.e2e.accessibility import violations
from tests.e2e.browser import WatchedPage
from tests.e2e.product import Product
from tests.support.file_server import file_server


@pytest.fixture
def watched(product: Product, browser: Browser) -> Iterator[WatchedPage]:
    """Signed in; at the end nothing may have gone wrong on the browser's console."""
    opened = WatchedPage(browser, product.url, expected=("/logs?",))
    try:
        wizard.sign_in(opened.page, product)
        yield opened
    finally:
        opened.close()
    assert opened.troubles == []


@pytest.fixture
def page(watched: WatchedPage) -> Page:
    return watched.page


def test_planted_mistakes_are_fixed_with_buttons(page: Page, tmp_path: Path) -> None:
    wizard.upload(page, wizard_models.one_model(tmp_path, "planted", wizard_models.PLANTED))
    wizard.to_configuration(page)
    editor = page.locator(".cm-content")
    expect(page.get_by_text("64 is larger than max_batch_size (32).").first).to_be_visible()
    wrong = page.get_by_text("The model's 'scale_0.tmp_1' is FP32; the config says INT64.")
    expect(wrong.first).to_be_visible()
    expect(page.get_by_role("button", name="Continue to placement")).to_be_disabled()
    assert violations(page) == []
    page.get_by_role("button", name="Remove 64").click()
    page.get_by_role("button", name="Write TYPE_FP32").click()
    delay = page.get_by_text("Every request may wait up to 10 ms in the queue.")
    expect(delay).to_be_visible()
    page.get_by_role("button", name=re.compile("^Set 1,000")).click()
    expect(page.get_by_text("No problems. The configuration fits the model.")).to_be_visible()
    expect(editor).to_contain_text("# ours, from the load test of March")
    expect(editor).to_contain_text("# three classes")
    expect(
        page.get_by_text("1 setting is not shown in the form and stays as written")
    ).to_be_visible()
    page.get_by_role("button", name="Try load").click()
    expect(page.get_by_text(re.compile("^It loads on "))).to_be_visible(timeout=wizard.DEPLOY_MS)
    wizard.to_placement(page)
    expect(page.get_by_text("1 replica fits")).to_be_visible()
    assert violations(page) == []
    wizard.to_deployment(page)
    assert violations(page) == []
    wizard.deploy(page)
    wizard.must_be_live(page, "planted")
    assert tiny_model.OUTPUT in wizard.sample(page)
    assert violations(page) == []


def test_text_that_cannot_be_read_freezes_the_form(page: Page, tmp_path: Path) -> None:
    wizard.upload(page, tiny_model.write(tmp_path / "frozen.onnx"))
    wizard.to_configuration(page)
    size = page.get_by_role("textbox", name="Max batch size")
    expect(size).to_be_enabled()
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("oops {\n")
    expect(page.get_by_text(re.compile(r"^Fix line \d+ to use the form$"))).to_be_visible()
    expect(size).to_be_disabled()
    page.keyboard.press("Control+Home")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Delete")
    expect(size).to_be_enabled()


def test_a_torchscript_file(page: Page, tmp_path: Path) -> None:
    wizard.upload(page, wizard_models.torchscript(tmp_path))
    wizard.to_configuration(page)
    # The file does not tell types and shapes: a draft is there to be corrected.
    expect(page.get_by_label("Inputs 1, shape")).to_have_value("-1")
    page.get_by_label("Inputs 1, shape").fill("4")
    page.get_by_label("Outputs 1, shape").fill("4")
    wizard.to_placement(page)
    wizard.to_deployment(page)
    wizard.deploy(page)
    wizard.must_be_live(page, "double")
    assert "OUTPUT__0" in wizard.sample(page)


def test_a_repository_with_an_ensemble(page: Page, tmp_path: Path) -> None:
    wizard.upload(page, wizard_models.ensemble(tmp_path))
    wizard.to_configuration(page)
    models = page.get_by_role("radiogroup", name="Model of the archive")
    models.get_by_text("pipeline").click()
    expect(page.get_by_text("2 steps; every change is written into the text")).to_be_visible()
    for tensor, way in (
        ("RAW", "goes from inputs to prepare"),
        ("clean", "goes from prepare to score"),
        ("SCORES", "goes from score to outputs"),
    ):
        # said to who does not see the drawing
        expect(page.get_by_text(re.compile(f"^{tensor}, .*{way}$"))).to_be_attached()
    called = page.get_by_role("listitem", name="Step 1. prepare").get_by_label("y is called")
    called.fill("washed")
    called.press("Enter")
    expect(page.locator(".cm-content")).to_contain_text('key: "x" value: "washed"')
    washed = page.get_by_text(re.compile("^washed, .*goes from prepare to score$"))
    expect(washed).to_be_attached()
    wizard.to_placement(page)
    wizard.to_deployment(page)
    wizard.deploy(page)
    wizard.must_be_live(page, "pipeline")
    assert "SCORES" in wizard.sample(page)
    page.goto("/endpoints/pipeline/pipeline")
    expect(page.get_by_role("region", name="Pipeline of blue")).to_be_visible()
    expect(washed).to_be_attached()
    steps = page.get_by_role("table", name="Steps")
    for name in ("prepare", "score"):
        expect(steps.get_by_role("row", name=name)).to_be_visible()
    assert violations(page) == []


def test_a_file_says_where_it_comes_from(page: Page, tmp_path: Path) -> None:
    wizard.upload(page, tiny_model.write(tmp_path / "traced.onnx"))
    origin = page.locator("details").filter(has_text="Where it comes from")
    origin.locator("summary").click(timeout=wizard.INSPECT_MS)
    origin.get_by_label("Page of the run").fill("javascript:alert(1)")
    expect(origin.get_by_text("Expected a link: https://host/path.")).to_be_visible()
    expect(page.get_by_role("button", name="Continue to configuration")).to_be_disabled()
    assert violations(page) == []
    origin.get_by_label("Page of the run").fill("https://runs.example.org/7")
    origin.get_by_label("Run", exact=True).fill("train-7")
    origin.get_by_label("Commit").fill("9091d72a")
    wizard.to_configuration(page)
    wizard.to_placement(page)
    wizard.to_deployment(page)
    expect(page.get_by_text("9091d72a", exact=True)).to_be_visible()
    wizard.deploy(page)
    wizard.must_be_live(page, "traced")
    page.goto("/models/traced/versions/1/overview")
    run = page.get_by_role("link", name="train-7")
    expect(run).to_have_attribute("href", "https://runs.example.org/7")
    expect(run).to_have_attribute("rel", "noopener noreferrer")
    page.get_by_role("button", name="Edit: Where it comes from").click()
    page.get_by_label("Dataset", exact=True).fill("<b>mnist</b>")
    page.get_by_label("Source", exact=True).fill("https://git.example.org/acme/digits")
    assert violations(page) == []
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("<b>mnist</b>", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="https://git.example.org/acme/digits")).to_be_visible()
    assert violations(page) == []


def fetch(page: Page, address: str) -> None:
    page.goto("/deploy/new")
    page.get_by_text("From an address", exact=True).click()
    page.get_by_role("textbox", name="Address").fill(address)
    page.get_by_role("button", name="Import", exact=True).click()


def test_a_model_is_fetched_from_an_address(page: Page, tmp_path: Path) -> None:
    with file_server() as files:
        files.routes["/fetched.onnx"] = tiny_model.write(tmp_path / "any.onnx").read_bytes()
        fetch(page, f"{files.url}/nothing.onnx?signature=s3cret")
        expect(wizard.alerts(page).first).to_be_visible(timeout=wizard.INSPECT_MS)
        expect(page.locator("body")).not_to_contain_text("s3cret")
        assert violations(page) == []
        wizard.discard(page)
        fetch(page, f"{files.url}/fetched.onnx?signature=s3cret")
        deploy = page.get_by_role("button", name="Deploy with defaults")
        expect(deploy).to_be_enabled(timeout=wizard.INSPECT_MS)
        deploy.click()
        wizard.must_be_live(page, "fetched")
    page.goto("/models/fetched/versions/1/overview")
    expect(page.get_by_text(f"{files.url}/fetched.onnx", exact=True)).to_be_visible()
    assert violations(page) == []


def test_weights_without_a_model_are_told_apart(page: Page, tmp_path: Path) -> None:
    wizard.upload(page, wizard_models.weights_only(tmp_path))
    refused = page.get_by_role("alert").filter(has_text="This file holds weights only.")
    expect(refused).to_be_visible(timeout=wizard.INSPECT_MS)
    expect(refused).to_contain_text("torch.jit.script")
    expect(page.get_by_role("button", name="Continue to configuration")).to_be_disabled()
    assert violations(page) == []
    wizard.discard(page)


def test_what_only_the_node_finds_out_leads_back_to_its_line(page: Page, tmp_path: Path) -> None:
    wizard.upload(page, wizard_models.one_model(tmp_path, "gpuonly", wizard_models.NEEDS_GPU))
    wizard.to_configuration(page)
    proceed = page.get_by_role("button", name="Continue to placement")
    expect(proceed).to_be_enabled(timeout=wizard.INSPECT_MS)
    proceed.click()
    refused = wizard.alerts(page).filter(has=page.get_by_role("button", name="line 10"))
    expect(refused).to_be_visible(timeout=wizard.DEPLOY_MS)
    expect(proceed).to_be_disabled()
    assert violations(page) == []
    refused.get_by_role("button", name="line 10").click()
    expect(page.locator(".cm-activeLine")).to_have_text(re.compile("gpus: "))
    page.reload()
    # it is not tried again
    expect(page.get_by_text("It does not load. Change it, or continue anyway.")).to_be_visible()
    page.get_by_role("button", name="Continue anyway").click()
    wizard.at_placement(page)
    expect(page.get_by_text("KIND_GPU but local has no GPU.")).to_be_visible()
    wizard.to_deployment(page)
    wizard.deploy(page)
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("link", name="Fix line 10").click()
    expect(page.locator(".cm-activeLine")).to_have_text(re.compile("gpus: "))
    page.get_by_role("button", name="GPUs is set").or_(
        page.get_by_role("button", name="0", exact=True)
    ).first.click()
    page.get_by_role("radiogroup", name="Run on").get_by_text("CPU").click()
    wizard.to_placement(page)
    wizard.to_deployment(page)
    wizard.deploy(page)
    wizard.must_be_live(page, "gpuonly")
    expect(page.get_by_text("version 1, deployed as blue")).to_be_visible()


def test_a_second_model_beside_the_first(page: Page, tmp_path: Path) -> None:
    wizard.upload(page, tiny_model.write(tmp_path / "beside.onnx"))
    deploy = page.get_by_role("button", name="Deploy with defaults")
    expect(deploy).to_be_visible(timeout=wizard.INSPECT_MS)
    deploy.click()
    wizard.must_be_live(page, "beside")
    page.goto("/deploy/new?model=beside&version=1&endpoint=beside")
    page.get_by_role("textbox", name="Max batch size").fill("8")
    wizard.to_placement(page)
    wizard.to_deployment(page)
    expect(page.get_by_label("Deployment name")).to_have_value("green")
    wizard.deploy(page)
    wizard.must_be_live(page, "beside")
    page.get_by_role("link", name="Send 10 % traffic").click()
    asked = page.get_by_role("dialog", name="Move traffic")
    asked.get_by_role("button", name="Apply 90 / 10").click()
    change = page.get_by_role("region", name="Traffic change")
    expect(change).to_contain_text("Traffic is now 90 / 10.")
    expect(change.get_by_role("button", name="Undo: back to 100 / 0")).to_be_visible()


def test_a_new_version_gets_its_traffic_in_stages(page: Page, tmp_path: Path) -> None:
    wizard.upload(page, tiny_model.write(tmp_path / "staged.onnx"))
    wizard.to_configuration(page)
    wizard.to_placement(page)
    wizard.to_deployment(page)
    expect(page.get_by_role("radio", name="All at once")).to_be_checked()
    expect(page.get_by_role("radio", name="In stages, with judgement")).to_have_count(0)
    expect(page.get_by_text("a new endpoint has none")).to_be_visible()
    wizard.deploy(page)
    wizard.must_be_live(page, "staged")
    page.goto("/deploy/new?model=staged&version=1&endpoint=staged")
    page.get_by_role("textbox", name="Max batch size").fill("8")
    wizard.to_placement(page)
    wizard.to_deployment(page)
    expect(page.get_by_role("radio", name="None yet")).to_be_checked()
    page.get_by_role("radio", name="In stages, with judgement").check()
    page.get_by_label("Steps, % of the traffic").fill("5, 50, 100")
    expect(page.get_by_text("1 replica, in stages: 5 % → 50 % → 100 %")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("button", name=re.compile("^Show as ")).first.click()
    code = page.get_by_role("dialog")
    expect(code).to_contain_text("--rollout")
    expect(code).to_contain_text("5:300,50:300,100:0")
    page.keyboard.press("Escape")
    expect(page.get_by_text(re.compile("^Draft saved"))).to_be_visible()
    page.reload()
    expect(page.get_by_label("Steps, % of the traffic")).to_have_value("5, 50, 100")
    wizard.deploy(page)
    wizard.must_be_live(page, "staged")
    begun = page.get_by_role("list", name="Stages").get_by_text("green gets 5 % → 50 % → 100 %")
    expect(begun).to_be_visible()
    expect(page.get_by_text("green has 5 % of the traffic.")).to_be_visible()
    assert violations(page) == []
    page.get_by_role("link", name="Follow the rollout").click()
    expect(page.get_by_role("heading", name="Rollout of green")).to_be_visible()
    page.get_by_role("button", name="Abort").click()
    page.get_by_role("dialog").get_by_role("button", name="Back to blue 100 %").click()
    expect(page.get_by_text("Aborted").first).to_be_visible()


def test_a_draft_goes_on_in_another_browser(
    page: Page, product: Product, browser: Browser, tmp_path: Path
) -> None:
    wizard.upload(page, tiny_model.write(tmp_path / "drafted.onnx"))
    wizard.to_configuration(page)
    page.get_by_role("textbox", name="Model name").fill("drafted-here")
    expect(page.get_by_text("Draft saved just now")).to_be_visible()
    elsewhere = WatchedPage(browser, product.url, expected=("/api/v1/drafts/",))
    try:
        other = elsewhere.page
        wizard.sign_in(other, product)
        other.goto("/deploy/new")
        other.get_by_role("link", name=re.compile("drafted-here")).click()
        wizard.to_configuration(other)
        name = other.get_by_role("textbox", name="Model name")
        expect(name).to_have_value("drafted-here")
        name.fill("drafted-there")
        expect(other.get_by_text("Draft saved just now")).to_be_visible()
    finally:
        elsewhere.close()
    assert elsewhere.troubles == []
    page.reload()
    expect(page.get_by_role("textbox", name="Model name")).to_have_value("drafted-there")
    wizard.discard(page)
    expect(page.get_by_role("link", name=re.compile("drafted-there"))).to_have_count(0)
