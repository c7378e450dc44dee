/** A card whose pencil leads to a form that writes what the card shows, and to the form's end. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { AsCodeButton, type Recipe } from "@/components/as-code";
import { Card } from "@/components/card";
import { toProblem, wasOvertaken } from "@/api/problem";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import classes from "../models.module.css";

export interface EditableCardProps {
  title: string;
  /** What is shown where nobody edits. */
  children: React.ReactNode;
  editor: (onDone: () => void) => React.ReactNode;
}

export function EditableCard({ title, children, editor }: EditableCardProps) {
  const refusal = useRefusal("deploy");
  const [editing, setEditing] = useState(false);
  return (
    <Card
      title={title}
      actions={
        editing ? undefined : (
          <ActionIcon aria-label={t`Edit: ${title}`} title={refusal} disabled={refusal !== undefined} onClick={() => setEditing(true)}>
            <IconPencil size={15} />
          </ActionIcon>
        )
      }
    >
      {editing ? editor(() => setEditing(false)) : children}
    </Card>
  );
}

type Saving = UseMutationResult<unknown, Error, void>;

/**
 * Writes what one has seen when one began, and has all that is shown of models read again. Where somebody was faster, that is
 * refused and told; who saves once more has read it, and writes over it.
 */
export function useSaving(etag: string, save: (seen: string) => Promise<unknown>, onDone: () => void): Saving {
  const queryClient = useQueryClient();
  const [seen, setSeen] = useState(etag);
  return useMutation({
    mutationFn: () => save(seen),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.models.all });
      notifyDone(t`Saved`);
      onDone();
    },
    onError: (error) => {
      const now = overtakenBy(error);
      if (now === undefined) return;
      setSeen(now);
      void queryClient.invalidateQueries({ queryKey: keys.models.all });
    },
  });
}

/** The etag of what somebody else has made of it meanwhile. */
function overtakenBy(error: unknown): string | undefined {
  if (!wasOvertaken(error)) return undefined;
  const { current } = toProblem(error).body;
  return typeof current === "object" && current !== null && "etag" in current && typeof current.etag === "string"
    ? current.etag
    : undefined;
}

export interface EditFormProps {
  saving: Saving;
  /** Whether what is in the form may be sent. */
  valid?: boolean;
  /** Whether the fields say what the server refused. */
  told?: boolean;
  recipe: () => Recipe;
  onDone: () => void;
  /** What it is now, for who was not alone. */
  now: React.ReactNode;
  children: React.ReactNode;
}

export function EditForm({ saving, valid = true, told = false, recipe, onDone, now, children }: EditFormProps) {
  return (
    <form
      className={classes["popover"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (valid) saving.mutate();
      }}
    >
      {children}
      {overtakenBy(saving.error) !== undefined ? (
        <div className={classes["overtaken"]} role="alert">
          <p>
            <Trans>Somebody has changed it since you began. This is what it is now; saving again writes over it.</Trans>
          </p>
          {now}
        </div>
      ) : saving.error && !told ? (
        <ProblemCard error={saving.error} />
      ) : null}
      <div className={classes["chips"]}>
        <Button type="submit" loading={saving.isPending}>
          <Trans>Save</Trans>
        </Button>
        <Button variant="default" onClick={onDone}>
          <Trans>Cancel</Trans>
        </Button>
        <AsCodeButton recipe={recipe} />
      </div>
    </form>
  );
}
