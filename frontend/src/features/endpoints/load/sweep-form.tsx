/** What a sweep is to send, and how much of it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import { IconGauge } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useRefusal } from "@/api/permissions";
import { startSweep } from "@/api/sweeps";
import { testCasesQuery } from "@/api/test-cases";
import { keys } from "@/api/keys";
import type { Deployment, Endpoint, LoadSweep, LoadSweepInput } from "@/api/types";
import { Card } from "@/components/card";
import { seconds as secondsText } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { RoleNote } from "@/components/role-note";
import { readLevels } from "./curve";
import classes from "./load.module.css";

const MODES = [
  { value: "concurrency", label: t`requests at a time` },
  { value: "rate", label: t`requests a second` },
];
const OBJECTIVES = [
  { value: "", label: t({ message: "none", context: "of an objective" }) },
  { value: "95", label: "p95" },
  { value: "99", label: "p99" },
];
const RANDOM = "";
const WARM_UP_S = 1;

export interface SweepFormProps {
  endpoint: Endpoint;
  deployment: Deployment;
  /** One is under way. */
  busy: boolean;
  onBegun: (sweep: LoadSweep) => void;
}

export function SweepForm({ endpoint, deployment, busy, onBegun }: SweepFormProps) {
  const client = useQueryClient();
  const refusal = useRefusal("deploy");
  const cases = useQuery(testCasesQuery("")).data?.items.filter(
    (one) => one.project === endpoint.project && one.endpoint === endpoint.name,
  );
  const [mode, setMode] = useState<"concurrency" | "rate">("concurrency");
  const [text, setText] = useState("1..32");
  const [seconds, setSeconds] = useState<number | string>(5);
  const [saved, setSaved] = useState(RANDOM);
  const [percentile, setPercentile] = useState("");
  const [limit, setLimit] = useState<number | string>(50);
  const [agreed, setAgreed] = useState(false);
  const read = readLevels(text);
  const share = endpoint.traffic[deployment.name] ?? 0;
  const mirrored = endpoint.mirror_traffic[deployment.name] ?? 0;
  const ruled = endpoint.traffic_rules.some((rule) => rule.deployment === deployment.name);
  const serves = share > 0 || mirrored > 0 || ruled;
  const start = useMutation({
    mutationFn: (body: LoadSweepInput) => startSweep(endpoint.name, deployment.name, body),
    onSuccess: async (sweep) => {
      setAgreed(false);
      client.setQueryData(keys.endpoints.sweep(sweep.id), sweep);
      await client.invalidateQueries({ queryKey: keys.endpoints.sweeps(endpoint.name, deployment.name) });
      onBegun(sweep);
    },
  });
  const ready = read.ok && typeof seconds === "number" && (percentile === "" || typeof limit === "number");
  const begin = () => {
    if (!ready) return;
    start.mutate({
      levels: read.levels,
      mode,
      seconds,
      warm_up_s: WARM_UP_S,
      while_serving: agreed,
      ...(saved === RANDOM ? {} : { case: saved }),
      ...(percentile === "" ? {} : { slo_percentile: percentile === "95" ? 95 : 99, slo_ms: Number(limit) }),
    });
  };
  return (
    <Card title={t`Measure under load`} hint={t`asked by the agent of its node, beside the replica; the gateway is not part of it`}>
      <form
        className={classes["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          begin();
        }}
      >
        <Select
          label={t`More and more`}
          allowDeselect={false}
          data={MODES}
          value={mode}
          onChange={(value) => setMode(value === "rate" ? "rate" : "concurrency")}
        />
        <TextInput
          label={t`Levels: 1, 2, 4 or 1..32 or 8:64:8`}
          value={text}
          error={read.ok ? undefined : read.error}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <NumberInput label={t`Seconds at each level`} min={0.5} max={120} value={seconds} onChange={setSeconds} />
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
        <Select
          label={t`Ends above an objective`}
          allowDeselect={false}
          data={OBJECTIVES}
          value={percentile}
          onChange={(value) => setPercentile(value ?? "")}
        />
        <NumberInput label={t`Milliseconds`} min={0.001} disabled={percentile === ""} value={limit} onChange={setLimit} />
        {serves ? (
          <Checkbox
            className={classes["wide"] ?? ""}
            checked={agreed}
            onChange={(event) => setAgreed(event.currentTarget.checked)}
            label={
              share > 0
                ? t`${deployment.name} serves clients (${share} % of the traffic): they will wait behind the sweep. Measure it all the same.`
                : t`${deployment.name} serves clients: they will wait behind the sweep. Measure it all the same.`
            }
          />
        ) : null}
        <div className={classes["wide"]}>
          <Button
            type="submit"
            leftSection={<IconGauge size={15} aria-hidden />}
            loading={start.isPending}
            disabled={!ready || busy || refusal !== undefined || (serves && !agreed)}
            title={refusal ?? (busy ? t`One is under way` : undefined)}
          >
            <Trans>Measure</Trans>
          </Button>{" "}
          {read.ok && typeof seconds === "number" ? (
            <span className="secondary">
              <Trans>
                {plural(read.levels.length, { one: "# point", other: "# points" })}, about{" "}
                {secondsText(read.levels.length * (seconds + WARM_UP_S))}
              </Trans>
            </span>
          ) : null}
        </div>
      </form>
      <RoleNote needs="deploy" to={t`load a deployment`} />
      {start.error ? <ProblemCard error={start.error} title={t`It could not be measured`} /> : null}
    </Card>
  );
}
