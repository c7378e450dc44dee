/** Description and tags, of the model or of one version. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Textarea, TextInput } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { keys } from "@/api/keys";
import type { Details } from "@/api/models";
import type { Recipe } from "@/components/as-code";
import { useSaving } from "@/components/saving";
import { EditableCard, EditForm } from "./editable-card";
import { TagChips } from "./tag-chips";
import classes from "../models.module.css";

type Detailed = Required<Details> & { etag: string };

export interface DetailsCardProps {
  title: string;
  /** The model or the version. */
  of: Detailed;
  /** `seen`: the etag of what one began with. */
  save: (details: Details, seen: string) => Promise<unknown>;
  recipe: (details: Required<Details>) => Recipe;
}

export function DetailsCard({ title, ...edited }: DetailsCardProps) {
  return (
    <EditableCard title={title} editor={(onDone) => <Editor {...edited} onDone={onDone} />}>
      <Words {...edited.of} />
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

interface Draft extends Required<Details> {
  /** A tag that is not added yet. */
  typed: string;
}

/** With the tag that one was about to add. */
function written({ description, tags, typed }: Draft): Required<Details> {
  const last = tagOf(typed);
  return { description, tags: last ? { ...tags, [last[0]]: last[1] } : tags };
}

/** `team=vision`, or a bare word. */
function tagOf(text: string): [string, string] | null {
  const [key = "", ...rest] = text.split("=");
  return key.trim() === "" ? null : [key.trim(), rest.join("=").trim()];
}

function Editor({ of, save, recipe, onDone }: Omit<DetailsCardProps, "title"> & { onDone: () => void }) {
  const saving = useSaving({ thing: of, part: ({ description, tags }) => ({ description, tags, typed: "" }), shownBy: keys.models.all });
  const { description, tags, typed } = saving.draft;
  const edit = (change: Partial<Draft>) => saving.edit({ ...saving.draft, ...change });
  const add = () => {
    const tag = tagOf(typed);
    if (tag) edit({ tags: { ...tags, [tag[0]]: tag[1] }, typed: "" });
  };
  return (
    <EditForm
      saving={saving}
      save={(draft, seen) => save(written(draft), seen.etag)}
      recipe={() => recipe(written(saving.draft))}
      now={(current) => <Words {...current} />}
      onDone={onDone}
    >
      <Textarea
        label={t`Description`}
        autosize
        minRows={2}
        value={description}
        onChange={(event) => edit({ description: event.currentTarget.value })}
      />
      <TextInput
        label={t`Add a tag`}
        placeholder="team=vision"
        value={typed}
        onChange={(event) => edit({ typed: event.currentTarget.value })}
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
              onClick={() => edit({ tags: Object.fromEntries(Object.entries(tags).filter(([other]) => other !== key)) })}
            >
              <IconX size={13} />
            </ActionIcon>
          </span>
        ))}
      </div>
    </EditForm>
  );
}
