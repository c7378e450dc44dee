/** What needs somebody: worst first. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useNavigate } from "@tanstack/react-router";
import { IconChevronRight } from "@tabler/icons-react";
import type { AttentionItem } from "@/api/types";
import { SEVERITY_WORDS } from "@/components/problem-severity";
import { type Tone, ToneIcon } from "@/components/status";
import classes from "./attention-list.module.css";

const TONES: Record<AttentionItem["severity"], Tone> = { error: "error", warning: "warn", info: "note" };
const ORDER: AttentionItem["severity"][] = ["error", "warning", "info"];

/** `items` are the worst of `count`. */
export function AttentionList({ items, count }: { items: readonly AttentionItem[]; count: number }) {
  const navigate = useNavigate();
  const more = count - items.length;
  const sorted = [...items].sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  return (
    <section className={classes["card"]} aria-label={t`Needs attention`}>
      <h2>
        <Trans>
          Needs attention <span className={classes["count"]}>{count}</span>
        </Trans>
      </h2>
      <ul>
        {sorted.map((item) => (
          <li key={`${item.link} ${item.title}`} data-severity={item.severity}>
            <a
              href={item.link}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                event.preventDefault();
                void navigate({ href: item.link });
              }}
            >
              <ToneIcon tone={TONES[item.severity]} label={SEVERITY_WORDS[item.severity]} />
              <span className={classes["title"]}>{item.title}</span>
              <span className={`muted ${classes["detail"]}`}>{item.detail}</span>
              <IconChevronRight size={15} aria-hidden className={classes["chevron"] ?? ""} />
            </a>
          </li>
        ))}
      </ul>
      {count > items.length ? (
        <p className={classes["more"]}>
          <Trans>and {more} more, not as bad as these</Trans>
        </p>
      ) : null}
    </section>
  );
}
