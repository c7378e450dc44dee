/** What is sought, among which configurations, and what is sent meanwhile. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import { IconAdjustments } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { toProblem } from "@/api/problem";
import { testCasesQuery } from "@/api/test-cases";
import { startTuning } from "@/api/tunings";
import type { Deployment, Endpoint, Tuning, TuningInput } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { ProblemCard } from "@/components/problem-card";
import { RoleNote } from "@/components/role-note";
import { readLevels } from "../load/curve";
import load from "../load/load.module.css";
import { startRecipe } from "./recipes";
import classes from "./tuning.module.css";
import { readValues } from "./values";

const MODES = [
  { value: "concurrency", label: t`most answers a second` },
  { value: "rate", label: t`least latency at a rate` },
];
const LIMITS = [
  { value: "", label: t`no limit` },
  { value: "95", label: "p95" },
  { value: "99", label: "p99" },
];
const RANDOM = "";
const WARM_UP_S = 0.5;
/** What the server says where replicas on the node answer clients. */
const SERVES = "DeploymentServes";
const MOST_RUNS = 64;

export interface TuningFormProps {
  endpoint: Endpoint;
  deployment: Deployment;
  /** One is under way. */
  busy: boolean;
  onBegun: (tuning: Tuning) => void;
}

export function TuningForm({ endpoint, deployment, busy, onBegun }: TuningFormProps) {
  const client = useQueryClient();
  const refusal = useRefusal("deploy");
  const cases = useQuery(testCasesQuery("")).data?.items.filter(
    (one) => one.project === endpoint.project && one.endpoint === endpoint.name,
  );
  const [mode, setMode] = useState<"concurrency" | "rate">("concurrency");
  const [text, setText] = useState("4, 16, 64");
  const [rate, setRate] = useState<number | string>(100);
  const [percentile, setPercentile] = useState("");
  const [limit, setLimit] = useState<number | string>(50);
  const [seconds, setSeconds] = useState<number | string>(2);
  const [saved, setSaved] = useState(RANDOM);
  const [instances, setInstances] = useState("");
  const [batches, setBatches] = useState("");
  const [delays, setDelays] = useState("");
  const [runs, setRuns] = useState<number | string>("");
  const [node, setNode] = useState("");
  const [agreed, setAgreed] = useState(false);
  const levels = mode === "rate" ? readLevels(String(rate)) : readLevels(text);
  const space = {
    instances: readValues(instances, 1, 64),
    batch_sizes: readValues(batches, 1, 4096),
    delays_us: readValues(delays, 0, 1e6),
  };
  const start = useMutation({
    mutationFn: (body: TuningInput) => startTuning(endpoint.name, deployment.name, body),
    onSuccess: async (tuning) => {
      setAgreed(false);
      client.setQueryData(keys.endpoints.tuning(tuning.id), tuning);
      await client.invalidateQueries({ queryKey: keys.endpoints.tunings(endpoint.name, deployment.name) });
      onBegun(tuning);
    },
  });
  const serves = start.error !== null && toProblem(start.error).code === SERVES;
  const limited = percentile === "" || typeof limit === "number";
  const given = Object.entries(space).flatMap(([name, read]) => (read.ok && read.values.length > 0 ? [[name, read.values] as const] : []));
  const ready = levels.ok && typeof seconds === "number" && limited && Object.values(space).every((read) => read.ok);
  const body: TuningInput = {
    mode,
    levels: levels.ok ? levels.levels : [],
    seconds: Number(seconds),
    warm_up_s: WARM_UP_S,
    ...(percentile === "" ? {} : { slo_percentile: percentile === "95" ? 95 : 99, slo_ms: Number(limit) }),
    ...(saved === RANDOM ? {} : { case: saved }),
    ...Object.fromEntries(given),
    ...(typeof runs === "number" ? { runs } : {}),
    ...(node.trim() ? { node: node.trim() } : {}),
    ...(agreed ? { while_serving: true } : {}),
  };
  const values = (label: string, value: string, set: (text: string) => void, read: ReturnType<typeof readValues>) => (
    <TextInput
      label={label}
      placeholder={t`the usual ones`}
      value={value}
      error={read.ok ? undefined : read.error}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
  return (
    <Card
      title={t`Seek the best configuration`}
      hint={t`each is measured on a private replica, which nobody calls; what serves stays as it is`}
    >
      <form
        className={load["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) start.mutate(body);
        }}
      >
        <Select
          label={t`Objective`}
          allowDeselect={false}
          data={MODES}
          value={mode}
          onChange={(value) => setMode(value === "rate" ? "rate" : "concurrency")}
        />
        <Select
          label={t`Latency must hold`}
          allowDeselect={false}
          data={LIMITS}
          value={percentile}
          onChange={(value) => setPercentile(value ?? "")}
        />
        <NumberInput label={t`Milliseconds`} min={0.001} disabled={percentile === ""} value={limit} onChange={setLimit} />
        {mode === "rate" ? (
          <NumberInput
            label={t`Requests a second`}
            min={0.1}
            value={rate}
            error={levels.ok ? undefined : levels.error}
            onChange={setRate}
          />
        ) : (
          <TextInput
            label={t`Requests at a time`}
            value={text}
            error={levels.ok ? undefined : levels.error}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        )}
        <NumberInput label={t`Seconds at each level`} min={0.1} max={120} value={seconds} onChange={setSeconds} />
        <Select
          label={t`Inputs`}
          allowDeselect={false}
          data={[
            { value: RANDOM, label: t`random data` },
            ...(cases ?? []).map((one) => ({ value: one.id, label: `${one.name} (${one.model})` })),
          ]}
          value={saved}
          onChange={(value) => setSaved(value ?? RANDOM)}
        />
        {values(t`Instances: 1, 2, 4 or 1..8`, instances, setInstances, space.instances)}
        {values(t`Batch sizes`, batches, setBatches, space.batch_sizes)}
        {values(t`Queue delays in µs`, delays, setDelays, space.delays_us)}
        <NumberInput
          label={t`Configurations at most`}
          placeholder={t`a tenth of all`}
          min={2}
          max={MOST_RUNS}
          allowDecimal={false}
          value={runs}
          onChange={setRuns}
        />
        <TextInput
          label={t`Node`}
          placeholder={t`one that serves nobody`}
          value={node}
          onChange={(event) => setNode(event.currentTarget.value)}
        />
        {serves || agreed ? (
          <Checkbox
            className={load["wide"] ?? ""}
            checked={agreed}
            onChange={(event) => setAgreed(event.currentTarget.checked)}
            label={t`Clients of that node may wait behind the search. Tune all the same.`}
          />
        ) : null}
        <div className={`${load["wide"]} ${classes["actions"]}`}>
          <Button
            type="submit"
            leftSection={<IconAdjustments size={15} aria-hidden />}
            loading={start.isPending}
            disabled={!ready || busy || refusal !== undefined}
            title={refusal ?? (busy ? t`One is under way` : undefined)}
          >
            <Trans>Tune</Trans>
          </Button>
          <AsCodeButton recipe={() => startRecipe(endpoint.name, deployment.name, body, cases?.find((one) => one.id === saved)?.name)} />
        </div>
      </form>
      <RoleNote needs="deploy" to={t`tune a deployment`} />
      {start.error ? <ProblemCard error={start.error} title={t`The search could not begin`} /> : null}
    </Card>
  );
}
