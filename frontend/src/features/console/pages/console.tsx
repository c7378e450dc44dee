/** The console of one endpoint with at least one ready deployment. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import "@mantine/core/styles/Pill.css";
import "@mantine/core/styles/PillsInput.css";
import { MultiSelect, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { capturedRequestQuery } from "@/api/capture";
import { testCaseQuery } from "@/api/test-cases";
import type { ConsoleModel, Endpoint, TestCase } from "@/api/types";
import { Card } from "@/components/card";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { ToneIcon } from "@/components/status";
import { ApiProblem } from "@/api/problem";
import shared from "../console.module.css";
import classes from "./console.module.css";
import { useConsole, type ConsoleLink } from "@/inference/socket/use-console";
import { GoldenCard } from "../golden/golden-card";
import { Bench } from "./bench";
import type { Replay } from "./bench-state";

export interface ConsoleProps {
  endpoint: Endpoint;
  deployment: string | null;
  onDeployment: (deployment: string | null) => void;
  /** The saved case that the URL names. */
  preset: string | null;
  onPreset: (id: string | null) => void;
  /** The captured request that the URL names. */
  captured: { id: string; at: number } | null;
}

const BY_TRAFFIC = "";
/** Answers beside one another are read, not scrolled through. */
const MOST_OTHERS = 3;

export function Console({ endpoint, deployment, onDeployment, preset, onPreset, captured }: ConsoleProps) {
  const console = useConsole(endpoint.name, deployment);
  const { link, metadata, reload } = console;
  const ready = endpoint.deployments.filter((one) => one.replicas.some((replica) => replica.state.toLowerCase() === "ready"));
  const [also, setAlso] = useState<string[]>([]);
  const comparable = ready.map((one) => one.name).filter((name) => name !== deployment);
  const others = also.filter((name) => comparable.includes(name));
  return (
    <div className={shared["stack"]}>
      <div className={shared["bar"]}>
        <Select
          label={t`Send to`}
          w={240}
          allowDeselect={false}
          value={deployment ?? BY_TRAFFIC}
          data={[
            { value: BY_TRAFFIC, label: t`The endpoint, by traffic` },
            ...ready.map((one) => ({
              value: one.name,
              label: `${one.name} (${one.model} v${one.version}, ${one.traffic} %)`,
            })),
          ]}
          onChange={(value) => onDeployment(value === BY_TRAFFIC ? null : value)}
        />
        {ready.length > 1 ? (
          <MultiSelect
            label={t`and compare with`}
            miw={240}
            maxValues={MOST_OTHERS}
            placeholder={others.length === 0 ? t`nobody` : undefined}
            value={others}
            data={comparable}
            onChange={setAlso}
          />
        ) : null}
      </div>
      {link === "lost" ? (
        <div className={classes["banner"]} role="status">
          <ToneIcon tone="warn" label={t`Connection lost`} />
          <Trans>The connection to the console is lost. Trying again; your inputs stay.</Trans>
        </div>
      ) : null}
      {link === "signed-out" || link === "unknown-endpoint" ? (
        <ProblemCard
          error={
            new ApiProblem(
              {
                title: link === "signed-out" ? t`You are signed out` : t`There is no endpoint ${endpoint.name}`,
                code: link,
                detail: link === "signed-out" ? t`Sign in again to use the console.` : "",
              },
              401,
            )
          }
        />
      ) : metadata.state === "failed" ? (
        <ProblemCard error={new ApiProblem({ title: metadata.message, code: metadata.code }, 502)} onRetry={reload} />
      ) : metadata.state === "ready" ? (
        <OfModels
          endpoint={endpoint}
          deployment={deployment}
          others={others}
          models={metadata.models}
          mayInfer={metadata.mayInfer}
          console={console}
          preset={preset}
          onPreset={onPreset}
          captured={captured}
        />
      ) : (
        <Card title={t`Request`} flush>
          <SkeletonRows rows={5} label={t`Reading the model's inputs`} />
        </Card>
      )}
    </div>
  );
}

interface OfModelsProps extends Pick<ConsoleProps, "endpoint" | "deployment" | "preset" | "onPreset" | "captured"> {
  others: readonly string[];
  models: readonly ConsoleModel[];
  mayInfer: boolean;
  console: ConsoleLink;
}

function OfModels({ endpoint, deployment, others, models, mayInfer, console, preset, onPreset, captured }: OfModelsProps) {
  const [chosen, setChosen] = useState<string | null>(null);
  const saved = useQuery({ ...testCaseQuery(preset ?? ""), enabled: preset !== null, staleTime: Infinity });
  const replaying = captured !== null && deployment !== null && preset === null;
  const sent = useQuery({
    ...capturedRequestQuery(endpoint.name, deployment ?? "", captured?.id ?? "", captured?.at ?? 0),
    enabled: replaying,
  });
  const replayed = replaying ? (sent.data ?? null) : null;
  const opened: TestCase | null = preset === null ? null : (saved.data ?? null);
  const model =
    models.find((one) => one.name === (chosen ?? opened?.model ?? replayed?.model)) ??
    models.find((one) => one.name === opened?.model) ??
    models[0];
  if (!model) {
    return (
      <ProblemCard error={new ApiProblem({ title: t`This deployment serves no model`, code: "NoModel" }, 404)} onRetry={console.reload} />
    );
  }
  if ((preset !== null && saved.isPending) || (replaying && sent.isPending)) {
    return (
      <Card title={t`Request`} flush>
        <SkeletonRows rows={5} label={replaying ? t`Opening the captured request` : t`Opening the test case`} />
      </Card>
    );
  }
  const replay: Replay | null =
    replayed !== null && replayed.model === model.name
      ? { name: t`request ${replayed.id}`, inputs: replayed.inputs as TestCase["inputs"], told: replayed.told }
      : null;
  const fits = opened !== null && opened.model === model.name;
  return (
    <>
      {saved.error && preset !== null ? (
        <ProblemCard error={saved.error} title={t`The test case could not be opened`} onRetry={() => void saved.refetch()} />
      ) : null}
      {replaying && sent.error ? <ProblemCard error={sent.error} title={t`The captured request could not be opened`} /> : null}
      {replay !== null && replayed !== null ? (
        <div className={classes["banner"]} role="status">
          <ToneIcon tone="note" label={t`Captured`} />
          <Trans>The inputs are those of the captured request {replayed.id}.</Trans>
        </div>
      ) : null}
      {opened !== null && !models.some((one) => one.name === opened.model) ? (
        <div className={classes["banner"]} role="status">
          <ToneIcon tone="warn" label={t`Other model`} />
          <Trans>
            The test case {opened.name} is for the model {opened.model}, which is not served here.
          </Trans>
        </div>
      ) : null}
      <Bench
        key={`${model.name} ${deployment} ${fits ? opened.id : ""} ${replay?.name ?? ""}`}
        endpoint={endpoint}
        deployment={deployment}
        others={others}
        models={models}
        model={model}
        mayInfer={mayInfer}
        onModel={(name) => {
          setChosen(name);
          if (preset !== null) onPreset(null);
        }}
        opened={fits ? opened : null}
        replay={replay}
        onCase={(id) => {
          setChosen(null);
          onPreset(id);
        }}
        infer={(call, onPart) =>
          console.socket?.infer(call, onPart) ?? {
            outcome: Promise.resolve({ kind: "lost", sent: false }),
            cancel: () => undefined,
          }
        }
      />
      <GoldenCard
        key={`golden ${model.name}`}
        endpoint={endpoint}
        model={model.name}
        deployment={deployment}
        onOpen={(id) => {
          setChosen(null);
          onPreset(id);
        }}
      />
    </>
  );
}
