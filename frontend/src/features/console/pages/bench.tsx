/** Request on the left, result on the right: one model of one target. */
import { t } from "@lingui/core/macro";
import { useHotkeys } from "@mantine/hooks";
import { useCallback, useState } from "react";
import { refusalText } from "@/api/permissions";
import type { ConsoleModel, Endpoint, TestCase } from "@/api/types";
import { BothCard } from "../both/both-card";
import { useBoth } from "../both/use-both";
import { caseInputs } from "../cases/case-values";
import { CasesMenu } from "../cases/cases-menu";
import { CodeView } from "@/inference/code/code-view";
import shared from "../console.module.css";
import classes from "./bench.module.css";
import { HistoryList } from "../history/history-list";
import { afterCall, newOptions, optionsOf, optionsProblem, parametersOf } from "../request/options";
import { withFill } from "../request/fill-draft";
import type { Batch } from "../request/input-draft";
import { JSON_LIMIT, requestJson } from "@/inference/code/request-json";
import { RequestPanel, type RequestView } from "../request/request-panel";
import { DifferenceCard } from "../results/difference-card";
import { LatencyStrip } from "../results/latency-strip";
import { contentOf, type CallRecord } from "../results/outcome";
import { ResultPanel } from "../results/result-panel";
import { buildAll, builtFromJson, opening, warmupDrafts, type Replay } from "./bench-state";
import { useCalls, type Infer } from "./use-calls";

export interface BenchProps {
  endpoint: Endpoint;
  deployment: string | null;
  models: readonly ConsoleModel[];
  model: ConsoleModel;
  mayInfer: boolean;
  onModel: (name: string) => void;
  opened: TestCase | null;
  /** A captured request that is to be sent again. */
  replay: Replay | null;
  onCase: (id: string | null) => void;
  /** Deployments that the call is sent to, too. */
  others: readonly string[];
  infer: Infer;
}

/** What stands for "by traffic" where answers are told apart. */
const BY_TRAFFIC = t`By traffic`;

const TOO_LARGE = t`// The request holds more than ${JSON_LIMIT} values: too many to edit as text. Use the form.`;
const LOOK_ONLY = t`Your role may look here, but not call. ${refusalText("invoke")}.`;

export function Bench({ endpoint, deployment, models, model, mayInfer, onModel, opened, replay, onCase, others, infer }: BenchProps) {
  const calls = useCalls(endpoint.name, model.name, infer);
  const both = useBoth(infer);
  const { shown, send: sendCall } = calls;
  const busy = calls.busy || both.busy;
  const sendBoth = both.send;
  const [start] = useState(() =>
    opening(
      model,
      opened ?? replay,
      calls.history.find((record) => record.model === model.name),
    ),
  );
  const [drafts, setDrafts] = useState(start.drafts);
  const [size, setSize] = useState(start.size);
  const [options, setOptions] = useState(() => (opened ? optionsOf(opened.options) : newOptions()));
  const [view, setView] = useState<RequestView>("form");
  const [json, setJson] = useState<string | null>(null);
  const [compared, setCompared] = useState<CallRecord | null>(null);
  const batch: Batch = { on: model.max_batch_size > 0, size };
  const built = json === null ? buildAll(drafts, batch) : builtFromJson(json, drafts, batch);
  const problem = (mayInfer ? null : LOOK_ONLY) ?? built.problem ?? optionsProblem(options, model);
  const parameters = parametersOf(options, model);
  const protocol = model.decoupled ? "grpc" : options.protocol;

  const send = useCallback(async () => {
    if (busy || problem !== null) return;
    const content = {
      deployment,
      model: model.name,
      options: { ...options, protocol },
      batchSize: batch.on ? (built.inputs[0]?.shape[0] ?? size) : 1,
      drafts,
      sent: built.inputs,
      parameters,
    };
    const sending = sendCall(content);
    if (model.sequence) setOptions(afterCall);
    const done = await sending;
    if (others.length === 0 || done?.outcome == null) return;
    await sendBoth(content, { to: deployment ?? BY_TRAFFIC, outcome: done.outcome, parts: done.parts }, others);
  }, [batch.on, built, busy, deployment, drafts, model, options, others, parameters, problem, protocol, sendBoth, sendCall, size]);
  useHotkeys([["mod+Enter", () => void send()]], []);

  const showAs = (next: RequestView) => {
    setView(next);
    if (next === "form") setJson(null);
    if (next !== "json") return;
    const count = built.inputs.reduce((sum, input) => sum + input.elements.length, 0);
    setJson(count <= JSON_LIMIT ? requestJson(built.inputs) : TOO_LARGE);
  };
  const fillWith = (next: { drafts: typeof drafts; size: number }) => {
    setDrafts(next.drafts);
    setSize(next.size);
    setJson(null);
    setView("form");
  };
  const restore = (record: CallRecord) => {
    calls.show(record.id);
    if (record.model !== model.name) return;
    fillWith({ drafts: record.drafts, size: record.batchSize });
    setOptions(record.options);
  };
  const outcome = shown?.outcome ?? null;
  return (
    <div className={shared["stack"]}>
      <div className={classes["columns"]}>
        <RequestPanel
          models={models}
          model={model}
          onModel={onModel}
          batch={batch}
          onBatch={setSize}
          options={{ ...options, protocol }}
          onOptions={(part) => setOptions((old) => ({ ...old, ...part }))}
          drafts={drafts}
          onDraft={(index, part) => setDrafts((old) => old.map((draft, at) => (at === index ? { ...draft, ...part } : draft)))}
          onFill={(kind) => fillWith({ drafts: drafts.map((draft) => withFill(draft, batch, kind)), size })}
          onWarmup={(index) => fillWith(warmupDrafts(model, index, drafts))}
          view={view}
          onView={showAs}
          json={json ?? ""}
          onJson={setJson}
          code={
            <CodeView
              endpoint={endpoint}
              call={{
                deployment,
                model: model.name,
                version: options.version,
                decoupled: model.decoupled ?? false,
                parameters,
                outputs: model.outputs.map((output) => output.name),
              }}
              inputs={built.inputs}
              problem={built.problem}
            />
          }
          cases={
            <CasesMenu
              endpoint={endpoint.name}
              model={model.name}
              current={opened}
              content={
                built.problem === null
                  ? () => ({
                      inputs: caseInputs(built.inputs),
                      options: { protocol, version: options.version, parameters },
                    })
                  : null
              }
              onOpen={onCase}
            />
          }
          problem={problem ?? start.problem}
          waiting={built.waiting || (problem === null && start.problem !== null)}
          blocked={problem !== null}
          busy={busy}
          onSend={() => void send()}
          sendTo={others.length + 1}
          onStop={() => {
            both.stop();
            calls.stop();
          }}
        />
        <div className={shared["stack"]}>
          <ResultPanel record={shown} model={model} onRetry={(record) => void sendCall(contentOf(record))} />
          {shown && outcome?.kind === "result" ? (
            <LatencyStrip timing={outcome.timing} roundTripUs={outcome.roundTripUs} first={shown.first} />
          ) : null}
          {shown && compared && compared.id !== shown.id ? (
            <DifferenceCard shown={shown} other={compared} onClose={() => setCompared(null)} />
          ) : null}
          <HistoryList history={calls.history} current={shown?.id ?? null} onRestore={restore} onCompare={setCompared} />
        </div>
      </div>
      <BothCard answers={both.answers} model={model} busy={both.busy} onClose={both.close} />
    </div>
  );
}
