/** A card whose pencil leads to a form that writes what the card shows, and to the form's end. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { AsCodeButton, type Recipe } from "@/components/as-code";
import { Card } from "@/components/card";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { OvertakenNote, type Saving, type Send } from "@/components/saving";
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

export interface EditFormProps<T, V> {
  saving: Saving<T, V>;
  /** Writes the draft over what was seen. */
  save: Send<T, V>;
  /** Whether what is in the form may be sent. */
  valid?: boolean;
  /** Whether the fields say what the server refused. */
  told?: boolean;
  recipe: () => Recipe;
  onDone: () => void;
  /** How it is shown what others have made of it. */
  now: (current: T) => React.ReactNode;
  children: React.ReactNode;
}

/** What is saved is read again, wherever models are shown. */
export function EditForm<T, V>({ saving, save, valid = true, told = false, recipe, onDone, now, children }: EditFormProps<T, V>) {
  const queryClient = useQueryClient();
  const saved: Send<T, V> = async (draft, seen) => {
    await save(draft, seen);
    await queryClient.invalidateQueries({ queryKey: keys.models.all });
    notifyDone(t`Saved`);
    onDone();
  };
  return (
    <form
      className={classes["popover"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (valid) saving.send(saved);
      }}
    >
      {children}
      <OvertakenNote saving={saving} now={now} onTake={onDone} />
      {saving.error && !told ? <ProblemCard error={saving.error} /> : null}
      <div className={classes["chips"]}>
        <Button type="submit" loading={saving.pending} disabled={saving.overtaken !== null}>
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
