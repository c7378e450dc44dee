/** Five fields that say where a model comes from; those that an import found are not asked. */
import { t } from "@lingui/core/macro";
import { TextInput } from "@mantine/core";
import { isWebLink, LABELS, STATED_FIELDS, type StatedField, type StatedLineage } from "./lineage";

export type LineageProblems = Readonly<Partial<Record<StatedField, string>>>;

const PLACEHOLDERS: Record<StatedField, string> = {
  address: "https://github.com/owner/name",
  run: "train-2026-11-27",
  run_url: "https://mlflow.example.org/…",
  commit: "9091d72a",
  dataset: "mnist@v3",
};
/** As controlplane/registry/lineage.py has them. */
const MOST: Record<StatedField, number> = { address: 2000, run: 500, run_url: 2000, commit: 500, dataset: 500 };
const SCHEME = /^(https?|hf|s3|gs|abfss|azureml|dbfs|runs|models|git|ssh)$/;

/** What the server would say, so that it need not be asked. */
export function lineageProblems(stated: StatedLineage): LineageProblems {
  const [address, page, commit] = [stated.address.trim(), stated.run_url.trim(), stated.commit.trim()];
  const scheme = address.includes(":") ? address.slice(0, address.indexOf(":")).toLowerCase() : "";
  return {
    ...(address !== "" && !SCHEME.test(scheme) ? { address: t`Expected an address: https://, s3://, hf:// or the like.` } : {}),
    ...(page !== "" && !isWebLink(page) ? { run_url: t`Expected a link: https://host/path.` } : {}),
    ...(commit !== "" && (commit === "HEAD" || !/^[A-Za-z0-9][A-Za-z0-9._/-]*$/.test(commit))
      ? { commit: t`Expected the commit itself: letters, digits and . _ / -` }
      : {}),
  };
}

export interface LineageFieldsProps {
  stated: StatedLineage;
  found: readonly StatedField[];
  problems: LineageProblems;
  onStated: (stated: StatedLineage) => void;
}

export function LineageFields({ stated, found, problems, onStated }: LineageFieldsProps) {
  return STATED_FIELDS.filter((field) => !found.includes(field)).map((field) => (
    <TextInput
      key={field}
      label={LABELS[field]}
      placeholder={PLACEHOLDERS[field]}
      value={stated[field]}
      maxLength={MOST[field]}
      onChange={({ currentTarget }) => onStated({ ...stated, [field]: currentTarget.value })}
      error={problems[field]}
      autoComplete="off"
      spellCheck={false}
    />
  ));
}
