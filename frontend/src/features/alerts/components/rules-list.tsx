/** The rules that are built in, from where on they fire, and what to do then. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, Switch } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { alertRulesQuery, changeAlertRule } from "@/api/alerts";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import type { AlertRule, AlertRuleChange } from "@/api/types";
import { Card } from "@/components/card";
import { LoadProblem } from "@/components/forbidden";
import { notifyDone, notifyProblem } from "@/components/notify";
import { SkeletonRows } from "@/components/skeleton";
import { Chip } from "@/components/status";
import { serverText } from "@/i18n/server-text";
import classes from "../alerts.module.css";
import { MISSING } from "@/components/format";
import { RuleThresholds } from "./rule-thresholds";

function RuleCard({ rule, chosen }: { rule: AlertRule; chosen: boolean }) {
  const client = useQueryClient();
  const refusal = useRefusal("operate");
  const place = useRef<HTMLDivElement>(null);
  const title = serverText(rule.title);
  const unit = serverText(rule.unit);
  const [typed, setTyped] = useState<number | string>(rule.threshold ?? "");
  useEffect(() => {
    if (chosen) place.current?.scrollIntoView({ block: "center" });
  }, [chosen]);
  const change = useMutation({
    mutationFn: (body: AlertRuleChange) => changeAlertRule(rule.name, body),
    onSuccess: async (now) => {
      setTyped(now.threshold ?? "");
      await client.invalidateQueries({ queryKey: keys.alerts.rules });
      notifyDone(t`${title}: changed`);
    },
    onError: (problem) => {
      setTyped(rule.threshold ?? "");
      notifyProblem(problem, t`The rule was not changed`);
    },
  });
  const off = refusal !== undefined || change.isPending;
  const keep = () => {
    if (typeof typed !== "number") setTyped(rule.threshold ?? "");
    else if (typed !== rule.threshold && !change.isPending) change.mutate({ threshold: typed });
  };
  return (
    <div ref={place} className={classes["rule"]} data-chosen={chosen ? "" : undefined}>
      <Card
        title={title}
        hint={rule.name}
        actions={
          <Switch
            label={rule.enabled ? t`On` : t`Off`}
            aria-label={t`${title} is on`}
            checked={rule.enabled}
            disabled={off}
            title={refusal}
            onChange={(event) => change.mutate({ enabled: event.currentTarget.checked })}
          />
        }
      >
        <p>
          {serverText(rule.about)} <Chip tone={rule.severity === "page" ? "error" : "warn"}>{rule.severity}</Chip>
        </p>
        {rule.threshold === null ? null : (
          <NumberInput
            label={t`Threshold, ${unit}`}
            description={t`Built in: ${rule.default_threshold ?? MISSING}. Fires after ${rule.for_s} s, is resolved after ${rule.clear_s} s.`}
            w={280}
            value={typed}
            disabled={off}
            onChange={setTyped}
            onBlur={keep}
            onKeyDown={(event) => {
              if (event.key === "Enter") keep();
              if (event.key === "Escape") setTyped(rule.threshold ?? "");
            }}
          />
        )}
        <RuleThresholds rule={rule} />
        <h3 className={classes["steps"]}>
          <Trans>What to do</Trans>
        </h3>
        <ol>
          {rule.steps.map((step) => (
            <li key={step}>
              {serverText(step)
                .split("`")
                .map((part, index) =>
                  // every second part stands between backticks
                  index % 2 === 1 ? <code key={part}>{part}</code> : part,
                )}
            </li>
          ))}
        </ol>
      </Card>
    </div>
  );
}

export function RulesList({ chosen }: { chosen: string | undefined }) {
  const { data, error, refetch } = useQuery(alertRulesQuery());
  if (error && !data) return <LoadProblem error={error} what={t`The rules`} needs="read" onRetry={() => void refetch()} />;
  if (!data) return <SkeletonRows label={t`Loading the rules`} />;
  return (
    <div className={classes["rules"]}>
      {data.map((rule) => (
        <RuleCard key={rule.name} rule={rule} chosen={rule.name === chosen} />
      ))}
    </div>
  );
}
