/** The console of one endpoint with at least one ready deployment. */
import { Select } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { useCallback, useState } from "react";
import type { ConsoleModel, Endpoint } from "@/api/types";
import { Card } from "@/components/card";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { ToneIcon } from "@/components/status";
import { ApiProblem } from "@/api/problem";
import classes from "../console.module.css";
import { HistoryList } from "../history/history-list";
import { nextCallId, useHistory } from "../history/store";
import {
  buildInput,
  isUntouched,
  newDraft,
  withSample,
  type Batch,
  type BuiltInput,
  type InputDraft,
} from "../request/input-draft";
import { JSON_LIMIT, readRequest, requestJson } from "../request/request-json";
import { RequestPanel } from "../request/request-panel";
import { LatencyStrip } from "../results/latency-strip";
import type { CallRecord } from "../results/outcome";
import { ResultPanel } from "../results/result-panel";
import type { InferCall } from "../socket/console-socket";
import { useConsole } from "../socket/use-console";
import type { SampleKind } from "../tensor/samples";
import { wireData } from "../tensor/raw-bytes";

export interface ConsoleProps {
  endpoint: Endpoint;
  deployment: string | null;
  onDeployment: (deployment: string | null) => void;
}

const BY_TRAFFIC = "";

export function Console({ endpoint, deployment, onDeployment }: ConsoleProps) {
  const { socket, link, metadata, reload } = useConsole(endpoint.name, deployment);
  const [chosen, setChosen] = useState<string | null>(null);
  const models = metadata.state === "ready" ? metadata.models : [];
  const model = models.find((one) => one.name === chosen) ?? models[0];
  const ready = endpoint.deployments.filter((one) =>
    one.replicas.some((replica) => replica.state.toLowerCase() === "ready"),
  );
  return (
    <div className={classes["stack"]}>
      <div className={classes["bar"]}>
        <Select
          label="Send to"
          w={240}
          value={deployment ?? BY_TRAFFIC}
          data={[
            { value: BY_TRAFFIC, label: "The endpoint, by traffic" },
            ...ready.map((one) => ({
              value: one.name,
              label: `${one.name} (${one.model} v${one.version}, ${one.traffic} %)`,
            })),
          ]}
          onChange={(value) => onDeployment(value === BY_TRAFFIC ? null : value)}
        />
      </div>
      {link === "lost" ? (
        <div className={classes["banner"]} role="status">
          <ToneIcon tone="warn" label="Connection lost" />
          The connection to the console is lost. Trying again; your inputs stay.
        </div>
      ) : null}
      {link === "signed-out" || link === "unknown-endpoint" ? (
        <ProblemCard
          error={
            new ApiProblem(
              {
                title: link === "signed-out" ? "You are signed out" : `There is no endpoint ${endpoint.name}`,
                code: link,
                detail: link === "signed-out" ? "Sign in again to use the console." : "",
              },
              401,
            )
          }
        />
      ) : metadata.state === "failed" ? (
        <ProblemCard error={new ApiProblem({ title: metadata.message, code: metadata.code }, 502)} onRetry={reload} />
      ) : model ? (
        <Bench
          key={`${model.name} ${deployment}`}
          endpoint={endpoint.name}
          deployment={deployment}
          models={models}
          model={model}
          onModel={setChosen}
          infer={(call) => socket?.infer(call) ?? Promise.resolve({ kind: "lost", sent: false })}
        />
      ) : metadata.state === "ready" ? (
        <ProblemCard
          error={new ApiProblem({ title: "This deployment serves no model", code: "NoModel" }, 404)}
          onRetry={reload}
        />
      ) : (
        <Card title="Request" flush>
          <SkeletonRows rows={5} label="Reading the model's inputs" />
        </Card>
      )}
    </div>
  );
}

interface BenchProps {
  endpoint: string;
  deployment: string | null;
  models: readonly ConsoleModel[];
  model: ConsoleModel;
  onModel: (name: string) => void;
  infer: (call: InferCall) => Promise<NonNullable<CallRecord["outcome"]>>;
}

interface BuiltRequest {
  inputs: BuiltInput[];
  problem: string | null;
  /** An input still waits to be filled: nothing is wrong yet. */
  waiting: boolean;
}

function buildAll(drafts: readonly InputDraft[], batch: Batch): BuiltRequest {
  const inputs: BuiltInput[] = [];
  for (const draft of drafts) {
    if (!draft.include) continue;
    const built = buildInput(draft, batch);
    if (!built.ok) return { inputs, problem: built.error, waiting: isUntouched(draft, batch) };
    inputs.push(built.input);
  }
  return { inputs, problem: null, waiting: false };
}

/** Filled with zeros, so that the first call is one press away; a picture is for the person to choose. */
function openingDraft(input: ConsoleModel["inputs"][number], batched: boolean): InputDraft {
  const draft = newDraft(input);
  return draft.optional || draft.mode === "image" ? draft : withSample(draft, { on: batched, size: 1 }, "zeros");
}

function Bench({ endpoint, deployment, models, model, onModel, infer }: BenchProps) {
  const [history, remember] = useHistory(endpoint);
  const [shownId, setShownId] = useState<number | null>(history[0]?.model === model.name ? history[0].id : null);
  const [drafts, setDrafts] = useState<InputDraft[]>(() => {
    const last = history.find((record) => record.model === model.name && record.drafts.length === model.inputs.length);
    return last?.drafts ?? model.inputs.map((input) => openingDraft(input, model.max_batch_size > 0));
  });
  const [size, setSize] = useState(1);
  const [protocol, setProtocol] = useState<InferCall["protocol"]>("http");
  const [json, setJson] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const batch: Batch = { on: model.max_batch_size > 0, size };
  const built = json === null ? buildAll(drafts, batch) : fromJson(json, drafts, batch);
  const shown = history.find((record) => record.id === shownId) ?? null;

  const send = useCallback(async () => {
    if (busy || built.problem !== null) return;
    const record: CallRecord = {
      id: nextCallId(),
      at: new Date().toISOString(),
      deployment,
      model: model.name,
      protocol,
      batchSize: batch.on ? (built.inputs[0]?.shape[0] ?? size) : 1,
      drafts,
      sent: built.inputs.map(({ name, datatype, shape, bytes }) => ({ name, datatype, shape, bytes })),
      outcome: null,
      first: history.length === 0,
    };
    remember(record);
    setShownId(record.id);
    setBusy(true);
    const inputs = built.inputs.map(({ name, datatype, shape, elements }) => ({
      name,
      datatype,
      shape,
      data: wireData(datatype, elements),
    }));
    const outcome = await infer({ model: model.name, protocol, inputs, ...(deployment ? { deployment } : {}) });
    remember({ ...record, outcome });
    setBusy(false);
  }, [batch.on, built, busy, deployment, drafts, history.length, infer, model.name, protocol, remember, size]);
  useHotkeys([["mod+Enter", () => void send()]], []);

  const view = (next: "form" | "json") => {
    if (next === "form") return setJson(null);
    const count = built.inputs.reduce((sum, input) => sum + input.elements.length, 0);
    setJson(
      built.problem === null && count <= JSON_LIMIT
        ? requestJson(built.inputs)
        : built.problem === null
          ? TOO_LARGE
          : requestJson(built.inputs),
    );
    return undefined;
  };
  const restore = (record: CallRecord) => {
    setShownId(record.id);
    if (record.model !== model.name) return;
    setDrafts(record.drafts);
    setSize(record.batchSize);
    setProtocol(record.protocol);
    setJson(null);
  };
  const outcome = shown?.outcome ?? null;
  return (
    <div className={classes["columns"]}>
      <RequestPanel
        models={models}
        model={model}
        onModel={onModel}
        batch={batch}
        onBatch={setSize}
        protocol={protocol}
        onProtocol={setProtocol}
        drafts={drafts}
        onDraft={(index, part) =>
          setDrafts((old) => old.map((draft, at) => (at === index ? { ...draft, ...part } : draft)))
        }
        onSample={(kind: SampleKind) => {
          setDrafts((old) => old.map((draft) => withSample(draft, batch, kind)));
          setJson(null);
        }}
        json={json}
        onJson={setJson}
        onView={view}
        problem={built.problem}
        waiting={built.waiting}
        busy={busy}
        onSend={() => void send()}
      />
      <div className={classes["stack"]}>
        <ResultPanel record={shown} model={model} onRetry={() => void send()} />
        {shown && outcome?.kind === "result" ? (
          <LatencyStrip timing={outcome.timing} roundTripUs={outcome.roundTripUs} first={shown.first} />
        ) : null}
        <HistoryList history={history} current={shownId} onRestore={restore} />
      </div>
    </div>
  );
}

const TOO_LARGE = `// The request holds more than ${JSON_LIMIT} values: too many to edit as text. Use the form.`;

function fromJson(text: string, drafts: readonly InputDraft[], batch: Batch): BuiltRequest {
  const read = readRequest(text, drafts, batch);
  return read.ok
    ? { inputs: read.inputs, problem: null, waiting: false }
    : { inputs: [], problem: read.error, waiting: false };
}
