/** How a node does: heard from or not, and whether it takes new work. */
import { t } from "@lingui/core/macro";
import type { NodeItem } from "@/api/types";
import { ageText } from "@/components/format";
import { Status } from "@/components/status";

/** Why the badge says what it says. */
const rule = (node: NodeItem) =>
  t`Last report ${ageText(node.age_s)}; suspect after ${node.rule.suspect_after_s} s, offline after ${node.rule.offline_after_s} s`;

const CONDITION_WORDS: Record<NodeItem["conditions"][number]["code"], string> = {
  ClockSkew: t`Clock differs`,
  VersionSkew: t`Version differs`,
  DiskPressure: t`Disk nearly full`,
  CacheSpoiled: t`Files changed on its disk`,
  AddressUnreachable: t`Address cannot be reached`,
  ClaimRefused: t`Not all it reports is believed`,
  CertificateNotShown: t`Cannot show its certificate`,
  CertificateEnds: t`Certificate ends soon`,
};

export function NodeStatus({ node }: { node: NodeItem }) {
  return (
    <span style={{ display: "inline-flex", flexWrap: "wrap", gap: 6 }}>
      <Status state={node.state} title={rule(node)} />
      {node.drain ? (
        <Status
          state={node.drain.done ? t`drained` : t`draining`}
          tone={node.drain.done ? "idle" : "warn"}
          title={t`What runs there moves away`}
        />
      ) : node.cordoned ? (
        <Status state={t`cordoned`} tone="warn" title={t`It keeps what it runs but takes nothing new`} />
      ) : null}
      {node.conditions.map((condition) => (
        <Status key={condition.code} state={CONDITION_WORDS[condition.code]} tone="warn" title={condition.message} />
      ))}
    </span>
  );
}
