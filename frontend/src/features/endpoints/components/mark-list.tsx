/** What the marks on the charts stand for, in words: a line on a canvas cannot be read aloud. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Link } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import type { Mark } from "@/components/charts/chart-group";
import { clock, zonedTime } from "@/components/format";
import { ToneIcon } from "@/components/status";
import classes from "./mark-list.module.css";

const SHOWN = 12;
const WORDS: Record<Mark["tone"], string> = { info: t({ context: "event", message: "Change" }), warn: t`Warning`, error: t`Failure` };

export function MarkList({ marks, endpoint }: { marks: readonly Mark[]; endpoint: string }) {
  if (marks.length === 0) return null;
  const shown = marks.slice(-SHOWN).reverse();
  return (
    <Card
      title={t`Marked on the charts`}
      hint={marks.length > SHOWN ? t`the latest ${SHOWN} of ${marks.length} changes` : t`changes in this time`}
      actions={
        <Link {...paths.endpointTab(endpoint, "events")} className="link">
          <Trans>All events</Trans>
        </Link>
      }
    >
      <ol className={classes["list"]}>
        {shown.map((mark) => {
          const at = new Date(mark.at * 1000);
          return (
            <li key={`${mark.at} ${mark.label}`}>
              <time dateTime={at.toISOString()} title={zonedTime(at.toISOString())}>
                {clock(at)}
              </time>
              {mark.tone === "info" ? (
                <span className={classes["dot"]} role="img" aria-label={WORDS.info} />
              ) : (
                <ToneIcon tone={mark.tone} label={WORDS[mark.tone]} size={14} />
              )}
              <span>{mark.label}</span>
            </li>
          );
        })}
      </ol>
    </Card>
  );
}
