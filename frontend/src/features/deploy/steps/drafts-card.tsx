/** What was begun earlier, here or in another browser. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { deleteDraft, draftsQuery } from "@/api/drafts";
import { keys } from "@/api/keys";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { notifyProblem } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { Time } from "@/components/time";
import classes from "./drafts-card.module.css";

export function DraftsCard() {
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery({ ...draftsQuery(), refetchOnMount: "always" });
  const discard = useMutation({
    mutationFn: (id: string) => deleteDraft(id),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keys.drafts.list }),
    onError: (problem) => notifyProblem(problem, t`The draft could not be discarded`),
  });
  if (error) return <ProblemCard error={error} title={t`Your drafts could not be read`} onRetry={() => void refetch()} />;
  const drafts = data?.items ?? [];
  if (drafts.length === 0) return null;
  return (
    <Card title={t`Continue a draft`} hint={t`${drafts.length} of yours`} flush>
      <ul className={classes["drafts"]}>
        {drafts.map((draft) => (
          <li key={draft.id}>
            <Link {...paths.deploy({ draft: draft.id })} className={classes["draftLink"]}>
              <span className="truncate">{draft.title || t`Without a name`}</span>
              <span className="secondary">
                <Trans>
                  saved <Time at={draft.updated_at} />
                </Trans>
              </span>
            </Link>
            <ActionIcon
              aria-label={t`Discard the draft ${draft.title}`}
              title={t`Discard`}
              disabled={discard.isPending}
              onClick={() => discard.mutate(draft.id)}
            >
              <IconTrash size={16} stroke={1.7} />
            </ActionIcon>
          </li>
        ))}
      </ul>
    </Card>
  );
}
