/** What was begun earlier, here or in another browser. */
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
    onError: (problem) => notifyProblem(problem, "The draft could not be discarded"),
  });
  if (error) return <ProblemCard error={error} title="Your drafts could not be read" onRetry={() => void refetch()} />;
  const drafts = data?.items ?? [];
  if (drafts.length === 0) return null;
  return (
    <Card title="Continue a draft" hint={`${drafts.length} of yours`} flush>
      <ul className={classes["drafts"]}>
        {drafts.map((draft) => (
          <li key={draft.id}>
            <Link {...paths.deploy({ draft: draft.id })} className={classes["draftLink"]}>
              <span className="truncate">{draft.title || "Without a name"}</span>
              <span className="secondary">
                saved <Time at={draft.updated_at} />
              </span>
            </Link>
            <ActionIcon
              aria-label={`Discard the draft ${draft.title}`}
              title="Discard"
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
