/** What differs between two revisions of a deployment. Secrets are compared by name: nobody can read their values. */
import { t } from "@lingui/core/macro";
import { NUMBERS, ROLLED_NUMBERS } from "@/components/deployment-numbers";
import type { DeploymentRevision } from "@/api/types";

export interface Difference {
  field: string;
  before: string;
  after: string;
}

const NONE = "–";

/** `sampling_rate 0.1; hash customer, name`: by the names that files say it with. */
function captureText(capture: DeploymentRevision["capture"]): string {
  if (!capture) return NONE;
  const said = Object.entries(capture).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]);
  return said
    .filter(([, value]) => value !== "")
    .map((pair) => pair.join(" "))
    .join("; ");
}

function facts(revision: DeploymentRevision): Map<string, string> {
  const found = new Map<string, string>([
    [t`model`, `${revision.model} v${revision.version}`],
    [t`configuration`, revision.config_revision ? t`revision ${revision.config_revision}` : t`as uploaded`],
    [t`instance type`, revision.instance_type ?? NONE],
    ...ROLLED_NUMBERS.map((name): [string, string] => {
      const { revision: words = "", suffix } = NUMBERS[name];
      return [words, revision[name] ? `${revision[name]} ${suffix}` : NONE];
    }),
    [t`captured`, captureText(revision.capture)],
    [t`files`, revision.digest.replace("sha256:", "").slice(0, 12)],
  ]);
  for (const [name, value] of Object.entries(revision.environment)) found.set(t`environment ${name}`, value);
  for (const name of revision.secret_environment) found.set(t`secret ${name}`, t`set`);
  for (const [name, value] of Object.entries(revision.node_labels)) found.set(t`node label ${name}`, value);
  return found;
}

export function differences(before: DeploymentRevision, after: DeploymentRevision): Difference[] {
  const [old, now] = [facts(before), facts(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((field) => ({ field, before: old.get(field) ?? NONE, after: now.get(field) ?? NONE }))
    .filter((one) => one.before !== one.after);
}
