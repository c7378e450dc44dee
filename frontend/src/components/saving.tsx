/** Saving what one has edited where others may edit it, too: nothing of theirs is written over unseen. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Overtaken, overtakenBy, sendOver } from "@/api/problem";
import { Time } from "./time";
import classes from "./saving.module.css";

interface Tagged {
  etag: string;
}

/** Writes a draft over the thing as it was seen, by its tag, and tells whom it concerns. */
export type Send<T, V> = (draft: V, seen: T) => Promise<unknown>;

export interface SavingOptions<T extends Tagged, V> {
  /** As it is shown now. */
  thing: T;
  /** What of it is edited, as the form has it. */
  part: (thing: T) => V;
  same?: (one: V, other: V) => boolean;
  /** What is to be read again where others have changed the thing. */
  shownBy: QueryKey;
}

export interface Saving<T, V> {
  /** What one has typed; what is shown now, as long as one has not. */
  draft: V;
  edited: boolean;
  /** Whether the draft is something else than what is shown now. */
  changed: boolean;
  edit: (draft: V) => void;
  /** Back to what is shown now. */
  discard: () => void;
  /** A draft that was typed is gone once it is saved, and stays where it is refused. */
  send: (how: Send<T, V>) => void;
  /** The same, for who has to know when it is done; rejects where it is refused. */
  sendNow: (how: Send<T, V>) => Promise<unknown>;
  pending: boolean;
  /** Why it was refused, other than by what others did; until one types on. */
  error: Error | null;
  /** What others have made of it since one began, once the server has refused to write over that. */
  overtaken: Overtaken<T> | null;
  /** Sends it again, over what they have made of it; as it was sent before, unless another way is named. */
  saveOver: (how?: Send<T, V>) => void;
}

const equal = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/**
 * The draft of a form, and the state of the thing that it was made of: what others change meanwhile takes nothing away from who types,
 * and is told before it is written over.
 */
export function useSaving<T extends Tagged, V>({ thing, part, same = equal, shownBy }: SavingOptions<T, V>): Saving<T, V> {
  const queryClient = useQueryClient();
  const [edit, setEdit] = useState<{ seen: T; draft: V } | null>(null);
  const [overtaken, setOvertaken] = useState<Overtaken<T> | null>(null);
  const draft = edit ? edit.draft : part(thing);
  const seen = overtaken?.current ?? edit?.seen ?? thing;
  const mutation = useMutation({
    mutationFn: (how: Send<T, V>) =>
      sendOver<T, unknown>(
        seen,
        (over) => how(draft, over),
        (current) => same(part(current), part(seen)) || same(part(current), draft),
      ),
    onSuccess: () => {
      setEdit(null);
      setOvertaken(null);
    },
    onError: (error) => {
      const now = overtakenBy<T>(error);
      if (now === null) return;
      setOvertaken(now);
      void queryClient.invalidateQueries({ queryKey: shownBy });
    },
  });
  return {
    draft,
    edited: edit !== null,
    changed: !same(draft, part(thing)),
    edit: (next) => {
      setEdit({ seen: edit?.seen ?? thing, draft: next });
      if (mutation.isError && overtaken === null) mutation.reset();
    },
    discard: () => {
      setEdit(null);
      setOvertaken(null);
      mutation.reset();
    },
    send: (how) => mutation.mutate(how),
    sendNow: (how) => mutation.mutateAsync(how),
    pending: mutation.isPending,
    error: overtakenBy(mutation.error) === null ? mutation.error : null,
    overtaken,
    saveOver: (how = mutation.variables) => {
      if (how) mutation.mutate(how);
    },
  };
}

export interface OvertakenNoteProps<T, V> {
  saving: Saving<T, V>;
  /** How that is shown which one was about to write over. */
  now: (current: T) => React.ReactNode;
  takeLabel?: string;
  overLabel?: string;
  /** After one has taken theirs. */
  onTake?: () => void;
  /** Where more is sent than the draft: how it is sent over theirs. */
  again?: Send<T, V>;
}

/** Says who was faster, and asks whose is to count; nothing where nobody was. */
export function OvertakenNote<T, V>({
  saving,
  now,
  takeLabel = t`Take theirs`,
  overLabel = t`Save mine over it`,
  onTake,
  again,
}: OvertakenNoteProps<T, V>) {
  if (saving.overtaken === null) return null;
  const { current, changed } = saving.overtaken;
  return (
    <div className={classes["overtaken"]} role="alert">
      <p>
        <b>
          {changed ? (
            <Trans>
              Changed by {changed.by}, <Time at={changed.at} />.
            </Trans>
          ) : (
            t`Somebody has changed it since you began.`
          )}
        </b>{" "}
        <Trans>Yours is not saved. This is what it is now:</Trans>
      </p>
      <div>{now(current)}</div>
      <div className={classes["actions"]}>
        <Button
          variant="default"
          size="xs"
          onClick={() => {
            saving.discard();
            onTake?.();
          }}
        >
          {takeLabel}
        </Button>
        <Button variant="default" size="xs" loading={saving.pending} onClick={() => saving.saveOver(again)}>
          {overLabel}
        </Button>
      </div>
    </div>
  );
}

/** What a form has, in a line for each of its fields. */
export function Values({ of }: { of: readonly (readonly [label: string, value: string])[] }) {
  return (
    <ul className={classes["values"]}>
      {of.map(([label, value]) => (
        <li key={label}>
          {label}: <b>{value}</b>
        </li>
      ))}
    </ul>
  );
}
