/**
 * What opens over a page: menus, dialogs, lists of choices, drawers, messages. A page is loaded once; then each of `opened` is
 * opened by its steps, in turn, and closed with Escape when it has been looked at.
 */
const button = (name) => (page) =>
  page
    .getByRole("button", { name, exact: typeof name === "string" })
    .first()
    .click();
const item = (name) => (page) => page.getByRole("menuitem", { name, exact: typeof name === "string" }).click();
const choices = (name) => (page) => page.getByRole("combobox", { name, exact: true }).first().click();
const keys = (combination) => (page) => page.keyboard.press(combination);
const hover = (selector) => (page) => page.locator(selector).first().hover();
const row = (name) => (page) => page.getByRole("row", { name }).first().click();
const focus = (name) => (page) => page.getByRole("button", { name }).first().focus();

/** `only`: where there is such a thing at one width alone. */
export const OVERLAYS = [
  { path: "/", only: "narrow", opened: { navigation: [button("Open the navigation")] } },
  { path: "/", only: "wide", opened: { "theme-menu": [button(/^Theme/)] } },
  {
    path: "/models/digits/versions/3",
    opened: {
      "account-menu": [button("Account")],
      "message-bell": [button(/^Messages/)],
      "operations-tray": [button(/^Operations/)],
      palette: [keys("Control+k")],
      "palette-found": [keys("Control+k"), (page) => page.keyboard.type("digits")],
      "key-help": [keys("?")],
      "version-menu": [button("More actions")],
      "version-as-code": [button("More actions"), item(/^Show as/)],
      "version-delete": [button("More actions"), item("Delete version 3")],
      "model-delete": [button("More actions"), item("Delete the model")],
      "alias-form": [button("Alias")],
      "version-choices": [choices("Version")],
    },
  },
  { path: "/endpoints", opened: { "endpoint-columns": [button("Columns")] } },
  {
    path: "/endpoints/resnet50-prod/deployments",
    opened: {
      "deployment-menu": [button(/^Actions for/)],
      "deployment-update": [button(/^Actions for/), item("Update to another version")],
      "deployment-rollout": [button(/^Actions for/), item("Roll out step by step")],
      "deployment-restart": [button(/^Actions for/), item("Restart")],
      "deployment-pause": [button(/^Actions for/), item("Pause")],
      "deployment-scale": [button(/^Actions for/), item("Scale")],
      "deployment-delete": [button(/^Actions for/), item("Delete")],
      "traffic-move": [button("50 %"), button(/^Apply/)],
    },
  },
  {
    path: "/endpoints/resnet50-prod/keys",
    opened: { "key-regenerate": [button("Regenerate")] },
  },
  {
    path: "/endpoints/resnet50-prod/requests",
    opened: { "request-waterfall": [row(/c7a0b4de/), (page) => page.getByRole("row", { name: /Queue/ }).first().waitFor()] },
  },
  {
    path: "/endpoints/resnet50-prod/settings",
    opened: { "endpoint-delete": [button(/^Delete/)] },
  },
  {
    path: "/nodes",
    opened: {
      "node-columns": [button("Columns")],
      "node-menu": [button("Actions for node-a1")],
      "node-remove": [button("Actions for node-a1"), item("Remove")],
      "node-drain": [button("Actions for node-a1"), item("Drain")],
    },
  },
  {
    path: "/settings/users",
    opened: {
      "user-columns": [button("Columns")],
      "user-menu": [button("Actions for jonas")],
      "user-deactivate": [button("Actions for jonas"), item("Deactivate")],
      "user-password": [button("Actions for jonas"), item("New password")],
      "user-add": [button("Add somebody")],
      "role-choices": [choices("Role of jonas")],
    },
  },
  { path: "/settings/tokens", opened: { "token-columns": [button("Columns")], "token-revoke": [button("Revoke ci")] } },
  {
    path: "/settings/instance-types",
    opened: {
      "type-menu": [button(/^Actions for/)],
      "type-change": [button(/^Actions for/), item("Change")],
      "type-remove": [button(/^Actions for/), item("Remove")],
    },
  },
  { path: "/alerts", opened: { "alert-menu": [button(/^Actions for Requests wait/)] } },
  { path: "/alerts?tab=channels", opened: { "channel-add": [button("Add a channel")], "channel-menu": [button("Actions for on-call")] } },
  { path: "/activity", opened: { "log-verified": [button("Verify")] } },
  {
    path: "/metrics?ids=resnet50-prod/blue",
    opened: { "compared-choices": [choices("Deployments to compare")] },
  },
  {
    path: "/endpoints/resnet50-prod/overview",
    opened: { "panel-formula": [focus(/is computed$/)], "why-slow": [button("Why is it slow?")] },
  },
  {
    path: "/test?endpoint=resnet50-prod",
    opened: {
      "fill-menu": [button("Fill")],
      "saved-cases": [button("Cases")],
      "case-save": [button("Fill"), item("Zeros"), button("Cases"), button("Save this call")],
    },
  },
  {
    path: "/settings/storage",
    opened: {
      "storage-clean": [button("Remove unused files")],
      // Last: what has been done is said in the corner, and stays there for a while; as long as the mouse is over it.
      "message-done": [button("Remove unused files"), button("Remove them"), hover(".mantine-Notification-root")],
    },
  },
];

/** Where what is open is drawn: over the page, not in it. */
export const FLOATING = "[role=dialog], [role=menu], [role=listbox], [role=tooltip], .mantine-Notification-root, .mantine-Popover-dropdown";

/** Opens one. Without motion, what a click opens and what it closes are so within a frame. */
export async function open(page, steps) {
  for (const step of steps) {
    await step(page);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  await page.locator(FLOATING).filter({ visible: true }).first().waitFor();
}

export async function close(page) {
  await page.keyboard.press("Escape");
  await page.mouse.move(0, 0);
  await page.locator(FLOATING).filter({ visible: true }).first().waitFor({ state: "detached" });
}
