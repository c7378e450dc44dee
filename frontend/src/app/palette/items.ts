/** Everything that the palette offers, as data: what it is called, who may do it, what it does. */
import { isFinished } from "@/api/operations";
import type { Deployment, Endpoint, Model, NodeItem, Operation, Permission } from "@/api/types";
import { paths } from "@/app/paths";
import { operationTitle } from "@/components/operation-titles";
import type { Act, DeploymentDialogName } from "./act";

export interface Item {
  id: string;
  label: string;
  detail?: string;
  icon: IconName;
  /** Further words that find it. */
  words?: string;
  /** What the server asks for; whoever lacks it sees the item off, with the reason. */
  needs?: Permission;
  act: Act;
}

export type IconName =
  | "endpoint"
  | "test"
  | "logs"
  | "model"
  | "node"
  | "operation"
  | "deploy"
  | "join"
  | "theme"
  | "keyboard"
  | "copy"
  | "traffic"
  | "key"
  | "restart"
  | "pause"
  | "start"
  | "scale"
  | "update"
  | "delete"
  | "cordon"
  | "drain"
  | "cancel"
  | "settings"
  | "leave";

export interface Group {
  title: string;
  items: Item[];
}

const RECENT_OPERATIONS = 20;

export const endpointItems = (endpoints: readonly Endpoint[]): Item[] =>
  endpoints.flatMap(({ name, serving_state }): Item[] => [
    {
      id: `endpoint ${name}`,
      label: name,
      detail: serving_state,
      icon: "endpoint",
      words: "endpoint",
      act: { kind: "go", link: paths.endpoint(name) },
    },
    { id: `test ${name}`, label: `Test ${name}`, icon: "test", words: "console call", act: { kind: "go", link: paths.test(name) } },
    { id: `logs ${name}`, label: `Logs of ${name}`, icon: "logs", act: { kind: "go", link: paths.endpointLogs(name) } },
  ]);

export const modelItems = (models: readonly Model[]): Item[] =>
  models.map(({ name, latest_version }) => ({
    id: `model ${name}`,
    label: name,
    detail: latest_version ? `version ${latest_version}` : "",
    icon: "model",
    words: "model",
    act: { kind: "go", link: paths.model(name) },
  }));

export const nodeItems = (nodes: readonly NodeItem[]): Item[] =>
  nodes.map(({ name, state }) => ({
    id: `node ${name}`,
    label: name,
    detail: state,
    icon: "node",
    words: "node",
    act: { kind: "go", link: paths.node(name) },
  }));

export const operationItems = (operations: readonly Operation[]): Item[] =>
  operations.slice(0, RECENT_OPERATIONS).map((item) => ({
    id: `operation ${item.id}`,
    label: operationTitle(item),
    detail: item.state,
    icon: "operation",
    words: "operation",
    act: { kind: "go", link: paths.operation(item.id) },
  }));

const VERBS: readonly { dialog: DeploymentDialogName; verb: string; words?: string }[] = [
  { dialog: "restart", verb: "Restart" },
  { dialog: "pause", verb: "Pause", words: "stop" },
  { dialog: "scale", verb: "Scale", words: "instances replicas" },
  { dialog: "update", verb: "Update", words: "version roll" },
  { dialog: "delete", verb: "Delete", words: "remove" },
];

function deploymentActions(endpoint: string, { name, paused }: Deployment): Item[] {
  const target = `${name} of ${endpoint}`;
  const verbs = VERBS.filter(({ dialog }) => !paused || (dialog !== "restart" && dialog !== "pause"));
  const start: Item[] = paused
    ? [
        {
          id: `start ${endpoint} ${name}`,
          label: `Start ${target}`,
          icon: "start",
          words: "resume",
          needs: "deploy",
          act: { kind: "start", endpoint, deployment: name },
        },
      ]
    : [];
  return [
    ...start,
    ...verbs.map(({ dialog, verb, words }): Item => ({
      id: `${dialog} ${endpoint} ${name}`,
      label: `${verb} ${target}`,
      icon: dialog,
      needs: "deploy",
      act: { kind: "dialog", ask: { dialog, endpoint, deployment: name } },
      ...(words ? { words } : {}),
    })),
  ];
}

function keyActions({ name, auth_mode }: Endpoint): Item[] {
  const keysPage = { kind: "go", link: paths.endpointTab(name, "keys") } as const;
  // An endpoint that is opened by tokens has no keys to rotate.
  if (auth_mode !== "key") return [{ id: `token ${name}`, label: `Make a token for ${name}`, icon: "key", needs: "keys", act: keysPage }];
  return [
    { id: `keys ${name}`, label: `Keys of ${name}`, icon: "key", act: keysPage },
    ...(["primary", "secondary"] as const).map((key): Item => ({
      id: `regenerate ${key} ${name}`,
      label: `Regenerate the ${key} key of ${name}`,
      icon: "key",
      words: "rotate renew",
      needs: "keys",
      act: { kind: "dialog", ask: { dialog: "regenerate", endpoint: name, key } },
    })),
  ];
}

export const endpointActions = (endpoints: readonly Endpoint[]): Item[] =>
  endpoints.flatMap((endpoint): Item[] => {
    const { name, deployments, scoring_uri } = endpoint;
    const traffic: Item[] =
      deployments.length > 1
        ? [
            {
              id: `traffic ${name}`,
              label: `Shift the traffic of ${name}`,
              icon: "traffic",
              words: "move split blue green",
              needs: "deploy",
              act: { kind: "dialog", ask: { dialog: "traffic", endpoint: name } },
            },
          ]
        : [];
    return [
      {
        id: `url ${name}`,
        label: `Copy the scoring URL of ${name}`,
        icon: "copy",
        words: "address",
        act: { kind: "copy", text: scoring_uri, what: `The scoring URL of ${name}` },
      },
      ...traffic,
      {
        id: `deploy to ${name}`,
        label: `Deploy to ${name}`,
        icon: "deploy",
        words: "new deployment",
        needs: "deploy",
        act: { kind: "go", link: paths.deploy({ endpoint: name }) },
      },
      ...keyActions(endpoint),
      ...deployments.flatMap((deployment) => deploymentActions(name, deployment)),
    ];
  });

export const modelActions = (models: readonly Model[]): Item[] =>
  models.flatMap(({ name, latest_version, archived }): Item[] =>
    latest_version && !archived
      ? [
          {
            id: `deploy ${name}`,
            label: `Deploy ${name} v${latest_version}`,
            icon: "deploy",
            needs: "deploy",
            act: { kind: "go", link: paths.deploy({ model: name, version: latest_version }) },
          },
        ]
      : [],
  );

export const nodeActions = (nodes: readonly NodeItem[]): Item[] =>
  nodes.flatMap(({ name, cordoned, drain }): Item[] => [
    {
      id: `cordon ${name}`,
      label: `${cordoned ? "Uncordon" : "Cordon"} ${name}`,
      icon: "cordon",
      needs: "operate",
      act: { kind: "cordon", node: name, cordoned },
    },
    ...(drain === null || drain.done
      ? [
          {
            id: `drain ${name}`,
            label: `Drain ${name}`,
            icon: "drain",
            words: "empty",
            needs: "operate",
            act: { kind: "dialog", ask: { dialog: "drain", node: name } },
          } as const,
        ]
      : []),
  ]);

export const operationActions = (operations: readonly Operation[]): Item[] =>
  operations
    .filter((item) => !isFinished(item))
    .map((item) => ({
      id: `cancel ${item.id}`,
      label: `Cancel: ${operationTitle(item)}`,
      detail: item.state,
      icon: "cancel",
      words: "stop abort",
      needs: "deploy",
      act: { kind: "cancel", operation: item.id, title: operationTitle(item) },
    }));

/** `here` is the address of the page in view. */
export const generalActions = (here: string): Item[] => [
  {
    id: "deploy",
    label: "Deploy a model",
    icon: "deploy",
    words: "upload new",
    needs: "deploy",
    act: { kind: "go", link: paths.deploy() },
  },
  { id: "join", label: "Join a node", icon: "join", words: "add machine", needs: "operate", act: { kind: "go", link: paths.joinNode() } },
  {
    id: "copy page",
    label: "Copy the address of this page",
    icon: "copy",
    words: "link share url",
    act: { kind: "copy", text: here, what: "The address of this page" },
  },
  { id: "theme", label: "Switch between light and dark", icon: "theme", words: "colour scheme", act: { kind: "theme" } },
  { id: "keys", label: "Show the keys", icon: "keyboard", words: "shortcuts help", act: { kind: "keys" } },
  { id: "leave", label: "Sign out", icon: "leave", words: "log out", act: { kind: "sign-out" } },
];

export const settingsItems = (): Item[] => [
  {
    id: "settings profile",
    label: "Profile and password",
    icon: "settings",
    words: "settings",
    act: { kind: "go", link: paths.settings() },
  },
  { id: "settings tokens", label: "API tokens", icon: "settings", words: "settings", act: { kind: "go", link: paths.tokens() } },
  {
    id: "settings users",
    label: "Users and roles",
    icon: "settings",
    words: "settings people",
    needs: "administer",
    act: { kind: "go", link: paths.users() },
  },
  {
    id: "settings projects",
    label: "Projects",
    icon: "settings",
    words: "settings quotas members",
    act: { kind: "go", link: paths.projects() },
  },
  { id: "settings types", label: "Instance types", icon: "settings", words: "settings", act: { kind: "go", link: paths.instanceTypes() } },
  { id: "settings storage", label: "Storage", icon: "settings", words: "settings files disk", act: { kind: "go", link: paths.storage() } },
  { id: "settings about", label: "About", icon: "settings", words: "settings version", act: { kind: "go", link: paths.about() } },
];
