/** What is looked at when a node joins: from its own report, each with what to do where it falls short. */
import { t } from "@lingui/core/macro";
import type { JoinToken, NodeItem } from "@/api/types";
import { bytes, count } from "@/components/format";

export type CheckState = "done" | "waiting" | "warning" | "failed";

export interface Check {
  id: string;
  label: string;
  state: CheckState;
  /** What to do about it, or what it means. */
  fix?: string;
}

const GIB = 2 ** 30;
const LITTLE_DISK = 5 * GIB;
const LITTLE_MEMORY = GIB;

function versions(node: NodeItem, version: string): Check {
  const theirs = node.info.agent_version;
  const same = theirs === version;
  return {
    id: "version",
    label: same ? t`Agent ${theirs}, as this server` : t`Agent ${theirs}, this server ${version}`,
    state: same ? "done" : "warning",
    ...(same ? {} : { fix: t`It works while the versions are near; install the server's version on the node when you can.` }),
  };
}

function gpus(node: NodeItem): Check {
  const found = node.info.gpus;
  if (found.length > 0) {
    return { id: "gpus", label: `${count(found.length)} × ${found[0]?.name ?? "GPU"}`, state: "done" };
  }
  return {
    id: "gpus",
    label: t`No GPU found: models run on processors`,
    state: "warning",
    fix: t`If the machine has one: nvidia-smi must work for the user that runs the agent.`,
  };
}

function backends(node: NodeItem): Check {
  const found = node.info.backends;
  return found.length > 0
    ? { id: "backends", label: t`Runs ${found.join(", ")}`, state: "done" }
    : {
        id: "backends",
        label: t`No backend can be loaded`,
        state: "failed",
        fix: t`Install onnxruntime beside the agent, then start it again.`,
      };
}

function room(node: NodeItem): Check[] {
  const { disk_free_bytes: disk, memory_total_bytes: total, memory_used_bytes: used, disk_pressure } = node.info;
  const short = disk < LITTLE_DISK || disk_pressure;
  const memory = total - used;
  return [
    {
      id: "disk",
      label: t`${bytes(disk)} of disk free`,
      state: short ? "warning" : "done",
      ...(short ? { fix: t`Models are kept there: free some, or set SHOAL_HOME to a larger disk.` } : {}),
    },
    {
      id: "memory",
      label: t`${bytes(memory)} of memory free`,
      state: memory < LITTLE_MEMORY ? "warning" : "done",
      ...(memory < LITTLE_MEMORY ? { fix: t`Large models will not load.` } : {}),
    },
  ];
}

/** What clients and models of one machine share; a container has 64 MiB where nobody asked for more. */
const LITTLE_SHM = 256 * 2 ** 20;

function shared(node: NodeItem): Check[] {
  const size = node.info.shm_total_bytes;
  if (size === null || size === undefined) return [];
  const short = size < LITTLE_SHM;
  return [
    {
      id: "shm",
      label: t`${bytes(size)} of shared memory`,
      state: short ? "warning" : "done",
      ...(short
        ? { fix: t`Enough unless clients on the node pass tensors through shared memory; then start its container with --shm-size=1g.` }
        : {}),
    },
  ];
}

/** Without them a model reads what the agent can, and calls the kernel and the network as it likes. */
const SANDBOX = ["files", "calls", "network"];

function sandbox(node: NodeItem): Check {
  const kept = node.info.sandbox;
  const missing = SANDBOX.filter((name) => !kept[name]);
  return missing.length === 0
    ? { id: "sandbox", label: t`Replicas run in a sandbox`, state: "done" }
    : {
        id: "sandbox",
        label: t`No sandbox for ${missing.join(", ")}`,
        state: "warning",
        fix: t`Its kernel or container has none, or SHOAL_SANDBOX is off there: models run with the rights of the agent.`,
      };
}

const told = (node: NodeItem, code: NodeItem["conditions"][number]["code"]) =>
  node.conditions.find((condition) => condition.code === code)?.message;

function clock(node: NodeItem): Check {
  const fix = told(node, "ClockSkew");
  return fix
    ? { id: "clock", label: t`Its clock differs`, state: "warning", fix }
    : { id: "clock", label: t`Its clock agrees with this server's`, state: "done" };
}

function address(node: NodeItem): Check {
  const fix = told(node, "AddressUnreachable");
  const where = t`Gateways find its replicas at ${node.info.address}`;
  return fix ? { id: "address", label: where, state: "failed", fix } : { id: "address", label: where, state: "done" };
}

/** Whether the agent knew who it talked to before it sent its token. */
function verified(joined: boolean): Check {
  const id = "trust";
  return joined
    ? { id, label: t`It verified this server by the fingerprint in the token, before it sent that`, state: "done" }
    : { id, label: t`It verifies this server by the fingerprint in the token`, state: "waiting" };
}

/** Whether the node proves itself by more than its credential. */
function certificate(node: NodeItem): Check {
  const id = "certificate";
  const fix = told(node, "CertificateNotShown");
  if (fix) return { id, label: t`It cannot show its certificate`, state: "warning", fix };
  return node.certificate_ends_at
    ? { id, label: t`It proves itself by a certificate, which renews by itself`, state: "done" }
    : { id, label: t`It asks for a certificate`, state: "waiting" };
}

/** `node` is null until it is known; `version` is the server's. */
export function preflight(token: JoinToken, node: NodeItem | null, version: string): Check[] {
  const joined = token.node ?? null;
  const head: Check[] = [
    verified(joined !== null),
    joined
      ? { id: "joined", label: t`${joined} has joined`, state: "done" }
      : { id: "joined", label: t`Waiting for the node to join`, state: "waiting" },
    node?.state === "online"
      ? { id: "reports", label: t`Reports every ${node.rule.interval_s} s`, state: "done" }
      : { id: "reports", label: t`It reports`, state: "waiting" },
  ];
  if (!node || node.state !== "online") {
    return [
      ...head,
      { id: "backends", label: t`Backends`, state: "waiting" },
      { id: "gpus", label: "GPUs", state: "waiting" },
      { id: "disk", label: t`Room for models`, state: "waiting" },
    ];
  }
  return [
    ...head,
    certificate(node),
    address(node),
    clock(node),
    versions(node, version),
    backends(node),
    gpus(node),
    ...room(node),
    ...shared(node),
    sandbox(node),
  ];
}

export const isReady = (checks: readonly Check[]): boolean => checks.every(({ state }) => state === "done" || state === "warning");
