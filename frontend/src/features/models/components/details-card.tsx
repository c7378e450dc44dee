/** Description and tags, of the model or of one version. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, Textarea, TextInput } from "@mantine/core";
import { IconPencil, IconX } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import type { Details } from "@/api/models";
import { useRefusal } from "@/api/permissions";
import { AsCodeButton, type Recipe } from "@/components/as-code";
import { Card } from "@/components/card";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { TagChips } from "./tag-chips";
import classes from "../models.module.css";

export interface DetailsCardProps {
  title: string;
  details: Required<Details>;
  save: (details: Details) => Promise<unknown>;
  recipe: (details: Required<Details>) => Recipe;
}

export function DetailsCard({ title, details, save, recipe }: DetailsCardProps) {
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
      {editing ? (
        <Editor details={details} save={save} recipe={recipe} onDone={() => setEditing(false)} />
      ) : (
        <>
          <p className={classes["description"]}>
            {details.description || (
              <span className="muted">
                <Trans>No description.</Trans>
              </span>
            )}
          </p>
          <TagChips
            tags={details.tags}
            none={
              <span className="muted">
                <Trans>No tags.</Trans>
              </span>
            }
          />
        </>
      )}
    </Card>
  );
}

/** `team=vision`, or a bare word. */
function tagOf(text: string): [string, string] | null {
  const [key = "", ...rest] = text.split("=");
  return key.trim() === "" ? null : [key.trim(), rest.join("=").trim()];
}

function Editor({ details, save, recipe, onDone }: Omit<DetailsCardProps, "title"> & { onDone: () => void }) {
  const queryClient = useQueryClient();
  const [description, setDescription] = useState(details.description);
  const [tags, setTags] = useState(details.tags);
  const [typed, setTyped] = useState("");
  const written = () => {
    const last = tagOf(typed);
    return { description, tags: last ? { ...tags, [last[0]]: last[1] } : tags };
  };
  const write = useMutation({
    mutationFn: () => save(written()),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.models.all });
      notifyDone(t`Saved`);
      onDone();
    },
  });
  const add = () => {
    const tag = tagOf(typed);
    if (!tag) return;
    setTags({ ...tags, [tag[0]]: tag[1] });
    setTyped("");
  };
  return (
    <form
      className={classes["popover"]}
      onSubmit={(event) => {
        event.preventDefault();
        write.mutate();
      }}
    >
      <Textarea
        label={t`Description`}
        autosize
        minRows={2}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
      <TextInput
        label={t`Add a tag`}
        placeholder="team=vision"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || typed.trim() === "") return;
          event.preventDefault();
          add();
        }}
      />
      <div className={classes["chips"]}>
        {Object.entries(tags).map(([key, value]) => (
          <span key={key} className={classes["alias"]}>
            {value ? `${key}=${value}` : key}
            <ActionIcon
              size={22}
              aria-label={t`Remove the tag ${key}`}
              onClick={() => setTags(Object.fromEntries(Object.entries(tags).filter(([other]) => other !== key)))}
            >
              <IconX size={13} />
            </ActionIcon>
          </span>
        ))}
      </div>
      {write.error ? <ProblemCard error={write.error} /> : null}
      <div className={classes["chips"]}>
        <Button type="submit" loading={write.isPending}>
          <Trans>Save</Trans>
        </Button>
        <Button variant="default" onClick={onDone}>
          <Trans>Cancel</Trans>
        </Button>
        <AsCodeButton recipe={() => recipe(written())} />
      </div>
    </form>
  );
}
