/** Everything that the palette offers, as data: what it is called, who may do it, what it does. */
import { t } from "@lingui/core/macro";
import { isFinished } from "@/api/operations";
import type { Deployment, Endpoint, Model, NodeItem, Operation, Permission } from "@/api/types";
import { paths } from "@/app/paths";
import { operationTitle } from "@/components/operation-titles";
import type { Act, DeploymentDialogName } from "./act";
import { stateWord } from "@/components/state-words";

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
      detail: stateWord(serving_state),
      icon: "endpoint",
      words: t`endpoint`,
      act: { kind: "go", link: paths.endpoint(name) },
    },
    { id: `test ${name}`, label: t`Test ${name}`, icon: "test", words: t`console call`, act: { kind: "go", link: paths.test(name) } },
    { id: `logs ${name}`, label: t`Logs of ${name}`, icon: "logs", act: { kind: "go", link: paths.endpointLogs(name) } },
  ]);

export const modelItems = (models: readonly Model[]): Item[] =>
  models.map(({ name, latest_version }) => ({
    id: `model ${name}`,
    label: name,
    detail: latest_version ? t`version ${latest_version}` : "",
    icon: "model",
    words: t`model`,
    act: { kind: "go", link: paths.model(name) },
  }));

export const nodeItems = (nodes: readonly NodeItem[]): Item[] =>
  nodes.map(({ name, state }) => ({
    id: `node ${name}`,
    label: name,
    detail: stateWord(state),
    icon: "node",
    words: t`node`,
    act: { kind: "go", link: paths.node(name) },
  }));

export const operationItems = (operations: readonly Operation[]): Item[] =>
  operations.slice(0, RECENT_OPERATIONS).map((item) => ({
    id: `operation ${item.id}`,
    label: operationTitle(item),
    detail: stateWord(item.state),
    icon: "operation",
    words: t`operation`,
    act: { kind: "go", link: paths.operation(item.id) },
  }));

const VERBS: readonly { dialog: DeploymentDialogName; label: (target: string) => string; words?: string }[] = [
  { dialog: "restart", label: (target) => t`Restart ${target}` },
  { dialog: "pause", label: (target) => t`Pause ${target}`, words: t`stop` },
  { dialog: "scale", label: (target) => t`Scale ${target}`, words: t`instances replicas` },
  { dialog: "update", label: (target) => t`Update ${target}`, words: t`version roll` },
  { dialog: "delete", label: (target) => t`Delete ${target}`, words: t`remove` },
];

function deploymentActions(endpoint: string, { name, paused }: Deployment): Item[] {
  const target = t`${name} of ${endpoint}`;
  const verbs = VERBS.filter(({ dialog }) => !paused || (dialog !== "restart" && dialog !== "pause"));
  const start: Item[] = paused
    ? [
        {
          id: `start ${endpoint} ${name}`,
          label: t`Start ${target}`,
          icon: "start",
          words: t`resume`,
          needs: "deploy",
          act: { kind: "start", endpoint, deployment: name },
        },
      ]
    : [];
  return [
    ...start,
    ...verbs.map(({ dialog, label, words }): Item => ({
      id: `${dialog} ${endpoint} ${name}`,
      label: label(target),
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
  if (auth_mode !== "key") return [{ id: `token ${name}`, label: t`Make a token for ${name}`, icon: "key", needs: "keys", act: keysPage }];
  return [
    { id: `keys ${name}`, label: t`Keys of ${name}`, icon: "key", act: keysPage },
    ...(["primary", "secondary"] as const).map((key): Item => ({
      id: `regenerate ${key} ${name}`,
      label: t`Regenerate the ${key} key of ${name}`,
      icon: "key",
      words: t`rotate renew`,
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
              label: t`Shift the traffic of ${name}`,
              icon: "traffic",
              words: t`move split blue green`,
              needs: "deploy",
              act: { kind: "dialog", ask: { dialog: "traffic", endpoint: name } },
            },
          ]
        : [];
    return [
      {
        id: `url ${name}`,
        label: t`Copy the scoring URL of ${name}`,
        icon: "copy",
        words: t`address`,
        act: { kind: "copy", text: scoring_uri, what: t`The scoring URL of ${name}` },
      },
      ...traffic,
      {
        id: `deploy to ${name}`,
        label: t`Deploy to ${name}`,
        icon: "deploy",
        words: t`new deployment`,
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
            label: t`Deploy ${name} v${latest_version}`,
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
      label: cordoned ? t`Uncordon ${name}` : t`Cordon ${name}`,
      icon: "cordon",
      needs: "operate",
      act: { kind: "cordon", node: name, cordoned },
    },
    ...(drain === null || drain.done
      ? [
          {
            id: `drain ${name}`,
            label: t`Drain ${name}`,
            icon: "drain",
            words: t`empty`,
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
      label: t`Cancel: ${operationTitle(item)}`,
      detail: stateWord(item.state),
      icon: "cancel",
      words: t`stop abort`,
      needs: "deploy",
      act: { kind: "cancel", operation: item.id, title: operationTitle(item) },
    }));

/** `here` is the address of the page in view. */
export const generalActions = (here: string): Item[] => [
  {
    id: "deploy",
    label: t`Deploy a model`,
    icon: "deploy",
    words: t`upload new`,
    needs: "deploy",
    act: { kind: "go", link: paths.deploy() },
  },
  { id: "join", label: t`Join a node`, icon: "join", words: t`add machine`, needs: "operate", act: { kind: "go", link: paths.joinNode() } },
  {
    id: "copy page",
    label: t`Copy the address of this page`,
    icon: "copy",
    words: t`link share url`,
    act: { kind: "copy", text: here, what: t`The address of this page` },
  },
  { id: "theme", label: t`Switch between light and dark`, icon: "theme", words: t`colour scheme`, act: { kind: "theme" } },
  {
    id: "keys",
    label: t({ message: "Show the keys", context: "of a keyboard" }),
    icon: "keyboard",
    words: t`shortcuts help`,
    act: { kind: "keys" },
  },
  { id: "leave", label: t`Sign out`, icon: "leave", words: t`log out`, act: { kind: "sign-out" } },
];

export const settingsItems = (): Item[] => [
  {
    id: "settings profile",
    label: t`Profile and password`,
    icon: "settings",
    words: t`settings`,
    act: { kind: "go", link: paths.settings() },
  },
  { id: "settings tokens", label: t`API tokens`, icon: "settings", words: t`settings`, act: { kind: "go", link: paths.tokens() } },
  {
    id: "settings users",
    label: t`Users and roles`,
    icon: "settings",
    words: t`settings people`,
    needs: "administer",
    act: { kind: "go", link: paths.users() },
  },
  {
    id: "settings projects",
    label: t`Projects`,
    icon: "settings",
    words: t`settings quotas members`,
    act: { kind: "go", link: paths.projects() },
  },
  {
    id: "settings types",
    label: t`Instance types`,
    icon: "settings",
    words: t`settings`,
    act: { kind: "go", link: paths.instanceTypes() },
  },
  {
    id: "settings storage",
    label: t`Storage`,
    icon: "settings",
    words: t`settings files disk`,
    act: { kind: "go", link: paths.storage() },
  },
  {
    id: "settings about",
    label: t({ message: "About", context: "of the studio" }),
    icon: "settings",
    words: t`settings version`,
    act: { kind: "go", link: paths.about() },
  },
];
