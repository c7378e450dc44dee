/** Where a version comes from, and who says so; whoever may write the model states it anew. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button } from "@mantine/core";
import { IconPencil } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { updateVersion } from "@/api/models";
import { useRefusal } from "@/api/permissions";
import { toProblem } from "@/api/problem";
import type { Lineage, ModelVersion } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { foundIn, LABELS, lineageFacts, saidIn, STATED_FIELDS, statedOf } from "@/components/lineage";
import { LineageFields, lineageProblems } from "@/components/lineage-fields";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { Time } from "@/components/time";
import { lineageRecipe } from "../recipes";
import { type Fact, Facts } from "./facts";
import classes from "../models.module.css";

type Traced = Pick<ModelVersion, "model" | "version" | "lineage">;

export function LineageCard({ version }: { version: Traced }) {
  const refusal = useRefusal("deploy");
  const [editing, setEditing] = useState(false);
  const title = t`Where it comes from`;
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
        <Editor version={version} onDone={() => setEditing(false)} />
      ) : version.lineage === null ? (
        <span className="muted">
          <Trans>Nobody said where it comes from.</Trans>
        </span>
      ) : (
        <Facts facts={factsOf(version.lineage)} />
      )}
    </Card>
  );
}

function factsOf(lineage: Lineage): Fact[] {
  const imported = lineage.kind !== "stated";
  const facts: Fact[] = lineageFacts(lineage);
  if (imported) facts.push([t`Imported`, <Time key="i" at={lineage.at} />], [t`Imported by`, lineage.by]);
  if (lineage.stated_at !== null) {
    const fields = STATED_FIELDS.filter((field) => lineage.stated.includes(field)).map((field) => LABELS[field]);
    facts.push(
      [t`Stated`, <Time key="s" at={lineage.stated_at} />],
      [t`Stated by`, imported ? `${lineage.stated_by}: ${fields.join(", ")}` : lineage.stated_by],
    );
  }
  return facts;
}

function Editor({ version, onDone }: { version: Traced; onDone: () => void }) {
  const queryClient = useQueryClient();
  const { model, version: number, lineage } = version;
  const [stated, setStated] = useState(() => statedOf(lineage));
  const write = useMutation({
    mutationFn: () => updateVersion(model, number, { lineage: saidIn(stated) }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: keys.models.all });
      notifyDone(t`Saved`);
      onDone();
    },
  });
  const problems = lineageProblems(stated);
  return (
    <form
      className={classes["popover"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (Object.keys(problems).length === 0) write.mutate();
      }}
    >
      <LineageFields
        stated={stated}
        found={foundIn(lineage)}
        problems={{ ...refused(write.error), ...problems }}
        onStated={(next) => {
          setStated(next);
          write.reset();
        }}
      />
      {write.error && Object.keys(refused(write.error)).length === 0 ? <ProblemCard error={write.error} /> : null}
      <div className={classes["chips"]}>
        <Button type="submit" loading={write.isPending}>
          <Trans>Save</Trans>
        </Button>
        <Button variant="default" onClick={onDone}>
          <Trans>Cancel</Trans>
        </Button>
        <AsCodeButton recipe={() => lineageRecipe(model, number, stated)} />
      </div>
    </form>
  );
}

/** What the server refused, at its field. */
function refused(error: unknown): Record<string, string> {
  if (!error) return {};
  const { field, detail, title } = toProblem(error);
  if (!field?.startsWith("lineage.")) return {};
  return { [field.slice("lineage.".length)]: (detail || title).replace(`${field}: `, "") };
}
