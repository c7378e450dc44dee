/** Description and tags, of the model or of one version. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Textarea, TextInput } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useState } from "react";
import type { Details } from "@/api/models";
import type { Recipe } from "@/components/as-code";
import { EditableCard, EditForm, useSaving } from "./editable-card";
import { TagChips } from "./tag-chips";
import classes from "../models.module.css";

export interface DetailsCardProps {
  title: string;
  details: Required<Details>;
  etag: string;
  /** `seen`: the etag of what one began with. */
  save: (details: Details, seen: string) => Promise<unknown>;
  recipe: (details: Required<Details>) => Recipe;
}

export function DetailsCard({ title, ...edited }: DetailsCardProps) {
  return (
    <EditableCard title={title} editor={(onDone) => <Editor {...edited} onDone={onDone} />}>
      <Words {...edited.details} />
    </EditableCard>
  );
}

function Words({ description, tags }: Required<Details>) {
  return (
    <>
      <p className={classes["description"]}>
        {description || (
          <span className="muted">
            <Trans>No description.</Trans>
          </span>
        )}
      </p>
      <TagChips
        tags={tags}
        none={
          <span className="muted">
            <Trans>No tags.</Trans>
          </span>
        }
      />
    </>
  );
}

/** `team=vision`, or a bare word. */
function tagOf(text: string): [string, string] | null {
  const [key = "", ...rest] = text.split("=");
  return key.trim() === "" ? null : [key.trim(), rest.join("=").trim()];
}

function Editor({ details, etag, save, recipe, onDone }: Omit<DetailsCardProps, "title"> & { onDone: () => void }) {
  const [description, setDescription] = useState(details.description);
  const [tags, setTags] = useState(details.tags);
  const [typed, setTyped] = useState("");
  const written = () => {
    const last = tagOf(typed);
    return { description, tags: last ? { ...tags, [last[0]]: last[1] } : tags };
  };
  const saving = useSaving(etag, (seen) => save(written(), seen), onDone);
  const add = () => {
    const tag = tagOf(typed);
    if (!tag) return;
    setTags({ ...tags, [tag[0]]: tag[1] });
    setTyped("");
  };
  return (
    <EditForm saving={saving} recipe={() => recipe(written())} now={<Words {...details} />} onDone={onDone}>
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
    </EditForm>
  );
}
