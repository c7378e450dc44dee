/** Two people who change the same thing of an endpoint or a deployment: the second is told, and nothing is lost. */
import { QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { beforeEach, describe, expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { changeDeployment, endpointQuery, setMirror, setRouting, setTraffic, updateEndpoint } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { latestRolloutQuery } from "@/api/rollouts";
import { tuningQuery } from "@/api/tunings";
import type { Deployment, Endpoint } from "@/api/types";
import { answerWith } from "@/testing/answers";
import { show } from "@/testing/show";
import { PolicyForm } from "../autoscaling/policy-form";
import { ScaleDialog } from "../components/deployment-dialogs";
import { MirrorRow } from "../components/mirror-row";
import { RequestSettings } from "../components/request-settings";
import { UpdateDialog } from "../components/update-dialog";
import { LimitsCard } from "../limits/limits-card";
import { StartRolloutDialog } from "../rollout/start-dialog";
import { RoutingCard } from "../routing/routing-card";
import { TakeIt } from "../tuning/take-it";
import { AccessCard } from "./access-card";
import { DescriptionCard } from "./description-card";

const NAME = "resnet50-prod";
const stored = (): Promise<Endpoint> => new QueryClient().fetchQuery(endpointQuery(NAME));
const blueOf = (endpoint: Endpoint): Deployment => {
  const blue = endpoint.deployments.find((one) => one.name === "blue");
  if (!blue) throw new Error("There is no blue.");
  return blue;
};

type EndpointChange = Parameters<typeof updateEndpoint>[1];
type DeploymentChange = Parameters<typeof changeDeployment>[2];
const change = async (body: EndpointChange) => updateEndpoint(NAME, body, (await stored()).etag);
const changeBlue = async (body: DeploymentChange) => changeDeployment(NAME, "blue", body, blueOf(await stored()).etag);

const POLICY = {
  enabled: true,
  min: 1,
  max: 9,
  targets: { in_flight: 4, requests_per_second: null, queue_ms: null, cpu_percent: null, gpu_percent: null },
  tolerance_percent: 10,
  interval_s: 2,
  up: { window_s: 0, cooldown_s: 15, per_minute: null },
  down: { window_s: 300, cooldown_s: 60, per_minute: null },
  idle: { after_s: 900, hold_s: 60, most_held: 1000 },
  schedules: [],
};

beforeEach(async () => {
  await change({
    description: "first",
    tags: {},
    auth_mode: "key",
    cors_origins: [],
    max_request_bytes: null,
    rate_limit: null,
    traffic: { blue: 100, green: 0 },
    mirror_traffic: {},
    traffic_rules: [],
    sticky: null,
  });
  await changeBlue({
    instance_count: 4,
    request_timeout_ms: 60_000,
    autoscale: null,
    version: "7",
    config_revision: null,
    description: "",
  });
});

/** What others do reaches this page only by a button, as if a socket had told of it. */
function Loaded({ Form }: { Form: React.FC<{ endpoint: Endpoint }> }) {
  const client = useQueryClient();
  const { data } = useQuery(endpointQuery(NAME));
  if (!data) return null;
  return (
    <>
      <button type="button" onClick={async () => client.setQueryData(keys.endpoints.one(NAME), await stored())}>
        Tell by a socket
      </button>
      <Form endpoint={data} />
      <output aria-label="Tag">{`${data.etag} ${blueOf(data).etag}`}</output>
    </>
  );
}

const button = (name: string | RegExp) => page.getByRole("button", { name, exact: typeof name === "string" });
const box = (name: string) => page.getByRole("textbox", { name, exact: true });
const told = page.getByRole("alert");

interface Case {
  form: string;
  Form: React.FC<{ endpoint: Endpoint }>;
  /** What the person of this page does, up to the button that saves. */
  type: () => Promise<unknown>;
  save: string | RegExp;
  theirs: () => Promise<unknown>;
  /** What is told of theirs. */
  now: string | RegExp;
  /** What is still in the form. */
  kept?: () => Promise<unknown>;
  /** What of the endpoint this is about, and what both make of it. */
  read: (endpoint: Endpoint) => unknown;
  made: { theirs: unknown; mine: unknown };
  /** Changes something else of the same thing. */
  beside: () => Promise<unknown>;
}

const tagged = () => change({ tags: { team: "vision" } });
const worded = () => changeBlue({ description: "another word" });

const Closing = ({ children }: { children: (opened: boolean, close: () => void) => React.ReactNode }) => {
  const [opened, setOpened] = useState(true);
  return children(opened, () => setOpened(false));
};

function Taken({ endpoint }: { endpoint: Endpoint }) {
  const { data } = useQuery(tuningQuery("tuning-1"));
  const tuning = data && { ...data, applied: 3, version: 7, registered_model: "resnet50", endpoint: NAME, deployment: "blue" };
  return tuning ? <TakeIt tuning={tuning} run={undefined} deployment={blueOf(endpoint)} /> : null;
}

function Rolled({ endpoint }: { endpoint: Endpoint }) {
  const green = endpoint.deployments.find((one) => one.name === "green");
  if (!green) throw new Error("There is no green.");
  return (
    <Closing>{(opened, close) => <StartRolloutDialog endpoint={endpoint} deployment={green} opened={opened} onClose={close} />}</Closing>
  );
}

const CASES: Case[] = [
  {
    form: "description",
    Form: DescriptionCard,
    type: () => userEvent.fill(box("Description"), "mine"),
    save: "Save the description",
    theirs: () => change({ description: "theirs" }),
    now: "theirs",
    kept: () => expect.element(box("Description")).toHaveValue("mine"),
    read: (endpoint) => endpoint.description,
    made: { theirs: "theirs", mine: "mine" },
    beside: tagged,
  },
  {
    form: "limits",
    Form: LimitsCard,
    type: () => userEvent.fill(box("Requests per second"), "40"),
    save: "Save the limits",
    theirs: () => change({ rate_limit: { requests_per_second: 77, burst: 90, per: "key" } }),
    now: /Requests per second: 77.*At once after a pause: 90.*Counted for: Each key for itself/,
    kept: () => expect.element(box("Requests per second")).toHaveValue("40"),
    read: (endpoint) => endpoint.rate_limit?.requests_per_second,
    made: { theirs: 77, mine: 40 },
    beside: tagged,
  },
  {
    form: "mirror",
    Form: MirrorRow,
    type: () => userEvent.fill(box("Share of the requests that are copied"), "30"),
    save: /^(Start mirroring|Change the mirror)$/,
    theirs: async () => setMirror(NAME, { green: 5 }, (await stored()).etag),
    now: "green gets copies of 5 % of the requests",
    kept: () => expect.element(box("Share of the requests that are copied")).toHaveValue("30 %"),
    read: (endpoint) => endpoint.mirror_traffic,
    made: { theirs: { green: 5 }, mine: { green: 30 } },
    beside: tagged,
  },
  {
    form: "rules",
    Form: RoutingCard,
    type: async () => {
      await button("Add a rule").click();
      await userEvent.fill(box("Header"), "x-mine");
      await userEvent.fill(box("Value"), "1");
    },
    save: "Save the rules",
    theirs: async () =>
      setRouting(NAME, { traffic_rules: [{ header: "x-theirs", exact: "2", deployment: "green" }] }, (await stored()).etag),
    now: "Rules, the first that fits: x-theirs=2->green",
    kept: () => expect.element(box("Header")).toHaveValue("x-mine"),
    read: (endpoint) => endpoint.traffic_rules?.map((rule) => rule.header),
    made: { theirs: ["x-theirs"], mine: ["x-mine"] },
    beside: tagged,
  },
  {
    form: "request settings",
    Form: ({ endpoint }) => <RequestSettings endpoint={NAME} deployment={blueOf(endpoint)} />,
    type: () => userEvent.fill(box("Time limit"), "5"),
    save: "Save",
    theirs: () => changeBlue({ request_timeout_ms: 7_000 }),
    now: "Time limit: 7 s",
    kept: () => expect.element(box("Time limit")).toHaveValue("5 s"),
    read: (endpoint) => blueOf(endpoint).request_timeout_ms,
    made: { theirs: 7_000, mine: 5_000 },
    beside: worded,
  },
  {
    form: "policy",
    Form: ({ endpoint }) => <PolicyForm endpoint={NAME} deployment={blueOf(endpoint)} />,
    type: () => userEvent.fill(box("Requests in flight"), "6"),
    save: /^(Scale by this|Save)$/,
    theirs: () => changeBlue({ autoscale: POLICY }),
    now: "keeps 1 to 9 instances by requests in flight (4).",
    kept: () => expect.element(box("Requests in flight")).toHaveValue("6"),
    read: (endpoint) => blueOf(endpoint).autoscale?.targets.in_flight,
    made: { theirs: 4, mine: 6 },
    beside: worded,
  },
  {
    form: "instances",
    Form: ({ endpoint }) => (
      <Closing>
        {(opened, close) => <ScaleDialog endpoint={endpoint} deployment={blueOf(endpoint)} opened={opened} onClose={close} />}
      </Closing>
    ),
    type: () => userEvent.fill(box("Instances"), "6"),
    save: "Run 6 instances",
    theirs: () => changeBlue({ instance_count: 2 }),
    now: "2 instances",
    kept: () => expect.element(box("Instances")).toHaveValue("6"),
    read: (endpoint) => blueOf(endpoint).instance_count,
    made: { theirs: 2, mine: 6 },
    beside: worded,
  },
  {
    form: "update",
    Form: ({ endpoint }) => (
      <Closing>{(opened, close) => <UpdateDialog endpoint={NAME} deployment={blueOf(endpoint)} opened={opened} onClose={close} />}</Closing>
    ),
    type: async () => {
      await page.getByRole("combobox", { name: "Version of resnet50" }).click();
      await page.getByRole("option", { name: /^v8/ }).click();
    },
    save: "Run resnet50 v8",
    theirs: () => changeBlue({ version: "6" }),
    now: "resnet50 v6, as uploaded",
    kept: () => expect.element(page.getByRole("combobox", { name: "Version of resnet50" })).toHaveValue("v8"),
    read: (endpoint) => blueOf(endpoint).version,
    made: { theirs: 6, mine: 8 },
    beside: worded,
  },
  {
    form: "tuned configuration",
    Form: Taken,
    type: () => button("Roll out").click(),
    save: "Run configuration 3",
    theirs: () => changeBlue({ config_revision: 2 }),
    now: "resnet50 v7, configuration 2",
    read: (endpoint) => blueOf(endpoint).config_revision,
    made: { theirs: 2, mine: 3 },
    beside: worded,
  },
];

describe.each(CASES)("$form", ({ Form, type, save, theirs, now, kept, read, made, beside }) => {
  test("who is second is told, keeps what was typed, and may save it over", async () => {
    await show(<Loaded Form={Form} />);
    await type();
    await theirs();
    await button(save).click();
    await expect.element(told).toHaveTextContent(/^Changed by omar, .* ago\. Yours is not saved\./);
    await expect.element(told).toHaveTextContent(now);
    await kept?.();
    await expect.element(button(save)).toBeDisabled();
    expect(read(await stored())).toEqual(made.theirs);
    await button("Save mine over it").click();
    await expect.element(told).not.toBeInTheDocument();
    expect(read(await stored())).toEqual(made.mine);
  });

  test("theirs can be taken", async () => {
    await show(<Loaded Form={Form} />);
    await type();
    await theirs();
    await button(save).click();
    await button("Take theirs").click();
    await expect.element(told).not.toBeInTheDocument();
    await expect.element(page.getByRole("dialog")).not.toBeInTheDocument();
    expect(read(await stored())).toEqual(made.theirs);
  });

  test("what others change beside it is no question", async () => {
    await show(<Loaded Form={Form} />);
    await type();
    await beside();
    await button(save).click();
    await expect.poll(async () => read(await stored())).toEqual(made.mine);
    await expect.element(told).not.toBeInTheDocument();
    const { tags, deployments } = await stored();
    expect([tags, deployments.find((one) => one.name === "blue")?.description]).toContainEqual(
      beside === tagged ? { team: "vision" } : "another word",
    );
  });

  test("what a socket tells of it takes nothing away from who types", async () => {
    await show(<Loaded Form={Form} />);
    await type();
    const tag = page.getByLabelText("Tag").element().textContent ?? "";
    await theirs();
    // why so: a dialog lies over it
    (page.getByText("Tell by a socket").element() as HTMLElement).click();
    await expect.element(page.getByLabelText("Tag")).not.toHaveTextContent(tag);
    await kept?.();
    await button(save).click();
    await expect.element(told).toHaveTextContent(now);
  });
});

test("of two who open an endpoint by tokens, or one of whom changes something else, nobody is asked", async () => {
  await show(<Loaded Form={({ endpoint }) => <AccessCard endpoint={endpoint} busy={false} />} />);
  await page.getByRole("radio", { name: "Tokens" }).click();
  await change({ auth_mode: "aml_token", description: "theirs" });
  await button("Use tokens").click();
  await expect.element(page.getByRole("dialog")).not.toBeInTheDocument();
  await page.getByRole("radio", { name: "Keys" }).click();
  await tagged();
  await button("Use keys").click();
  await expect.element(page.getByRole("dialog")).not.toBeInTheDocument();
  const { auth_mode, description, tags } = await stored();
  expect([auth_mode, description, tags]).toEqual(["key", "theirs", { team: "vision" }]);
});

test("a rollout begins from the shares that one has seen, with what the form says when one goes on", async () => {
  const latest = () => new QueryClient().fetchQuery(latestRolloutQuery(NAME));
  const before = await latest();
  await show(<Loaded Form={Rolled} />);
  await userEvent.fill(page.getByLabelText("Steps, % of the traffic"), "20, 100");
  await setTraffic(NAME, { blue: 60, green: 40 }, (await stored()).etag);
  await button(/^Give green/).click();
  await expect.element(told).toHaveTextContent(/^Changed by omar/);
  expect((await latest())?.id).toEqual(before?.id);
  await userEvent.fill(page.getByLabelText("Steps, % of the traffic"), "50, 100");
  await button("Roll out all the same").click();
  await expect.element(page.getByRole("dialog")).not.toBeInTheDocument();
  expect((await latest())?.stages.map((stage) => stage.percent)).toEqual([50, 100]);
});

test("a policy is paused and removed as it was seen", async () => {
  await changeBlue({ autoscale: POLICY });
  await show(<Loaded Form={({ endpoint }) => <PolicyForm endpoint={NAME} deployment={blueOf(endpoint)} />} />);
  await expect.element(button("Pause")).toBeEnabled();
  await changeBlue({ autoscale: { ...POLICY, max: 5 } });
  await button("Remove").click();
  await expect.element(told).toHaveTextContent("keeps 1 to 5 instances");
  await button("Take theirs").click();
  await expect.element(box("At most")).toHaveValue("5");
  await button("Pause").click();
  await expect.element(button("Resume")).toBeVisible();
  expect(blueOf(await stored()).autoscale).toMatchObject({ max: 5, enabled: false });
});

test("a time limit alone is sent alone: what brings new replicas would have to wait for a change under way", async () => {
  const sent = answerWith("PATCH", "/deployments/blue", 202, {});
  await show(<Loaded Form={({ endpoint }) => <RequestSettings endpoint={NAME} deployment={blueOf(endpoint)} />} />);
  await userEvent.fill(box("Time limit"), "5");
  await button("Save").click();
  await expect.poll(() => sent).toEqual([{ request_timeout_ms: 5_000 }]);
});
