/** Trials of the made-up installation: loading when they are first asked about, ended the second time. */
import type { TryLoad, TryLoadAsk } from "../src/api/placement";
import { ago } from "./db";

const NODE = "gpu-a1";
const trials = new Map<string, TryLoad>();

interface Refusal {
  status: number;
  code: string;
  detail: string;
}

/** An instance type called `full` has no room anywhere, a model called `unapproved` runs code. */
export function trialBegun(ask: TryLoadAsk): TryLoad | Refusal {
  if (ask.instance_type === "full") return { status: 409, code: "OutOfCapacity", detail: `${NODE}: no GPU has 6.4 GB free` };
  if (ask.model === "unapproved" && ask.only_approved) {
    return { status: 409, code: "CodeNotApproved", detail: "unapproved 1 runs code, which nobody has approved yet." };
  }
  const fails = Object.values(ask.configs ?? {}).some((text) => text.includes("KIND_GPU"));
  const made: TryLoad = {
    id: `trial-${trials.size + 1}`,
    state: "Queued",
    model: ask.model ?? null,
    version: ask.model ? 1 : null,
    config_revision: null,
    upload_id: ask.upload_id ?? null,
    edited: Object.keys(ask.configs ?? {}),
    node: NODE,
    phase: "pending",
    downloaded_bytes: 0,
    total_bytes: 0,
    load_seconds: null,
    memory_bytes: 0,
    duration_s: 0,
    effective: {},
    log: "",
    error: fails
      ? {
          code: "ModelLoadFailed",
          message: "The model does not load.",
          detail: "instance group has kind KIND_GPU, but there is no GPU",
          hints: ["Say KIND_CPU, or choose a node with a GPU."],
        }
      : null,
    deadline_at: ago(-300),
    created_by: "maria",
    created_at: ago(0),
    finished_at: null,
  };
  trials.set(made.id, made);
  return { ...made, error: null };
}

export function trialNow(id: string, leaf: string | undefined): TryLoad | null {
  const trial = trials.get(id);
  if (!trial) return null;
  const shown = trial.state === "Running" || trial.state === "Queued" ? { ...trial, error: null } : trial;
  if (leaf === "cancel") Object.assign(trial, { state: "Canceled", error: null, finished_at: ago(0) });
  else if (trial.state === "Queued") Object.assign(trial, { state: "Running", phase: "loading" });
  else if (trial.state === "Running") {
    const ended = trial.error ? { state: "Failed" } : { state: "Succeeded", load_seconds: 0.8, memory_bytes: 412_042_240 };
    Object.assign(trial, { ...ended, finished_at: ago(0) });
    return { ...trial };
  }
  return leaf === "cancel" ? { ...trial } : shown;
}
