/** Where a version comes from, and who says so; whoever may write the model states it anew. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { keys } from "@/api/keys";
import { updateVersion } from "@/api/models";
import { toProblem } from "@/api/problem";
import type { Lineage, ModelVersion } from "@/api/types";
import { foundIn, LABELS, lineageFacts, saidIn, STATED_FIELDS, statedOf } from "@/components/lineage";
import { LineageFields, lineageProblems } from "@/components/lineage-fields";
import { useSaving } from "@/components/saving";
import { Time } from "@/components/time";
import { lineageRecipe } from "../recipes";
import { EditableCard, EditForm } from "./editable-card";
import { type Fact, Facts } from "./facts";

type Traced = Pick<ModelVersion, "model" | "version" | "lineage" | "etag">;

export function LineageCard({ version }: { version: Traced }) {
  return (
    <EditableCard title={t`Where it comes from`} editor={(onDone) => <Editor version={version} onDone={onDone} />}>
      <Known lineage={version.lineage} />
    </EditableCard>
  );
}

function Known({ lineage }: Pick<Traced, "lineage">) {
  if (lineage !== null) return <Facts facts={factsOf(lineage)} />;
  return (
    <span className="muted">
      <Trans>Nobody said where it comes from.</Trans>
    </span>
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
  const { model, version: number, lineage } = version;
  const saving = useSaving({ thing: version, part: (shown) => statedOf(shown.lineage), shownBy: keys.models.all });
  const stated = saving.draft;
  const problems = lineageProblems(stated);
  const refusals = refused(saving.error);
  return (
    <EditForm
      saving={saving}
      save={(draft, seen) => updateVersion(model, number, { lineage: saidIn(draft) }, seen.etag)}
      valid={Object.keys(problems).length === 0}
      told={Object.keys(refusals).length > 0}
      recipe={() => lineageRecipe(model, number, stated)}
      now={(current) => <Known lineage={current.lineage} />}
      onDone={onDone}
    >
      <LineageFields stated={stated} found={foundIn(lineage)} problems={{ ...refusals, ...problems }} onStated={saving.edit} />
    </EditForm>
  );
}

/** What the server refused, at its field. */
function refused(error: unknown): Record<string, string> {
  if (!error) return {};
  const { field, detail, title } = toProblem(error);
  if (!field?.startsWith("lineage.")) return {};
  return { [field.slice("lineage.".length)]: (detail || title).replace(`${field}: `, "") };
}
