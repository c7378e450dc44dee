/** The last choice of the wizard: how the new deployment gets its first traffic. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { NumberInput, Radio } from "@mantine/core";
import { useEffect } from "react";
import type { Endpoint } from "@/api/types";
import { PlanFields } from "@/components/rollout-plan/plan-fields";
import { TrafficBar } from "@/components/traffic-bar";
import classes from "../deploy.module.css";
import type { DraftForm } from "../draft/draft";
import { type FirstTraffic, trafficNote, trafficProblem, type TrafficWay, waysFor, whyFew } from "../draft/first-traffic";
import own from "./traffic-section.module.css";

export interface TrafficSectionProps {
  draft: Pick<DraftForm, "target" | "endpoint" | "deployment" | "traffic">;
  /** The endpoint that it goes to, if that is there. */
  existing: Endpoint | undefined;
  /** Whether the server has said which endpoints there are. */
  known: boolean;
  onTraffic: (traffic: FirstTraffic) => void;
}

const TITLES: Record<TrafficWay, string> = {
  none: t`None yet`,
  share: t`A share`,
  all: t`All at once`,
  rollout: t`In stages, with judgement`,
};
const WORDS: Record<TrafficWay, string> = {
  none: t`You test it directly, and move traffic yourself.`,
  share: t`So much as soon as it is ready; you decide on the rest.`,
  all: t`As soon as it is ready.`,
  rollout: t`More step by step while it does no worse than what answers beside it, and back by itself where it does.`,
};

export function TrafficSection({ draft, existing, known, onTraffic }: TrafficSectionProps) {
  const { traffic } = draft;
  const ways = waysFor(existing);
  const offered = ways.includes(traffic.way);
  // A draft of yesterday may ask for what the endpoint of today cannot give.
  useEffect(() => {
    if (known && !offered) onTraffic({ ...traffic, way: "none" });
  }, [known, offered, onTraffic, traffic]);
  // While none is chosen it is not known what there is beside it.
  const why = draft.target === "existing" && !existing ? null : whyFew(draft.endpoint, existing);
  return (
    <div className={classes["section"]}>
      <div className={classes["sectionHead"]}>
        <h2>
          <Trans>Traffic</Trans>
        </h2>
        <span className="secondary">
          <Trans>what it gets first</Trans>
        </span>
      </div>
      <Radio.Group aria-label={t`Traffic`} value={traffic.way} onChange={(way) => onTraffic({ ...traffic, way: way as TrafficWay })}>
        <div className={own["ways"]}>
          {ways.map((way) => (
            <Radio key={way} value={way} label={TITLES[way]} description={WORDS[way]} />
          ))}
        </div>
      </Radio.Group>
      {traffic.way === "share" && offered ? (
        <NumberInput
          className={own["share"] ?? ""}
          label={t`Share of the traffic, %`}
          min={1}
          max={99}
          allowDecimal={false}
          clampBehavior="none"
          value={traffic.share}
          error={trafficProblem(traffic) === null ? undefined : t`A whole number from 1 to 99`}
          onChange={(share) => onTraffic({ ...traffic, share })}
        />
      ) : null}
      {traffic.way === "rollout" && offered ? (
        <div className={own["plan"]}>
          <PlanFields plan={traffic.plan} onPlan={(part) => onTraffic({ ...traffic, plan: { ...traffic.plan, ...part } })} share={0} />
        </div>
      ) : null}
      {why === null ? null : <p className={classes["note"]}>{why}</p>}
      <p className={classes["note"]}>{trafficNote(draft.deployment, traffic, existing)}</p>
      {existing ? (
        <div className={own["now"]}>
          <TrafficBar traffic={existing.traffic} />
        </div>
      ) : null}
    </div>
  );
}
