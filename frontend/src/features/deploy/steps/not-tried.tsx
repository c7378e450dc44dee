/** Said where one went on although nobody knows whether it loads. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ToneIcon } from "@/components/status";
import shared from "../deploy.module.css";

export function NotTried({ why }: { why: string }) {
  return (
    <div className={shared["refusal"]} style={{ borderLeftColor: "var(--warn)", marginBottom: 12 }} role="status">
      <ToneIcon tone="warn" label={t`Not tried`} />
      <span>
        <Trans>Whether it loads was not tried: {why}</Trans>
      </span>
    </div>
  );
}
