/** A model that runs code: why, what the installation's policy makes of it, and the approval. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { approveVersion } from "@/api/models";
import { sessionQuery } from "@/api/session";
import type { Code } from "@/api/types";
import classes from "./code-notice.module.css";
import { codeMessage } from "./code-messages";
import { notifyDone, notifyProblem } from "./notify";
import { RefusingButton } from "./refusing-button";
import { Chip, ToneIcon } from "./status";

/** The badge: nothing for models without code. */
export function CodeChip({ code }: { code: Code }) {
  if (code.state === "none") return null;
  return (
    <span title={code.reasons.map((reason) => reason.message).join(" ")}>
      <Chip tone={code.state === "allowed" ? "idle" : code.state === "refused" ? "error" : "warn"}>
        <Trans>runs code</Trans>
      </Chip>
    </span>
  );
}

export interface CodeNoticeProps {
  code: Code;
  /** The version that can be approved, with the newest edit that is shown; none while it is an upload. */
  version?: { model: string; version: number; revision?: number | null };
}

export function CodeNotice({ code, version }: CodeNoticeProps) {
  const queryClient = useQueryClient();
  const permissions = useQuery(sessionQuery()).data?.user?.permissions;
  const approve = useMutation({
    mutationFn: (seen: NonNullable<CodeNoticeProps["version"]>) => approveVersion(seen.model, seen.version, seen.revision),
    onSuccess: async (approved) => {
      await queryClient.invalidateQueries({ queryKey: keys.models.all });
      notifyDone(t`${approved.model} version ${approved.version} may run`);
    },
    onError: (error) => notifyProblem(error, t`It could not be approved`),
  });
  const words = codeMessage(code, { may: permissions?.includes("code:upload"), registered: version !== undefined });
  if (words === null) return null;
  return (
    <section className={classes["notice"]} data-tone={words.tone} aria-label={t`Runs code`}>
      <ToneIcon tone={words.tone} label={words.title} />
      <div className={classes["body"]}>
        <p className={classes["title"]}>{words.title}</p>
        <p>{words.text}</p>
        <ul className={classes["reasons"]}>
          {code.reasons.map((reason) => (
            <li key={reason.message}>{reason.message}</li>
          ))}
        </ul>
      </div>
      {version && code.state === "waiting" ? (
        <RefusingButton needs="code:upload" loading={approve.isPending} onClick={() => approve.mutate(version)}>
          <Trans>Approve</Trans>
        </RefusingButton>
      ) : null}
    </section>
  );
}
