/** How a deployment runs and is asked: limits of requests, variables, probes; and what the server takes of each. */
import { t } from "@lingui/core/macro";
import { NUMBER_NAMES, NUMBERS, type Numbers, type Range } from "@/components/deployment-numbers";
import { ApiProblem } from "@/api/problem";
import type { DeployRequest } from "@/api/types";

/** A secret one has no value here: drafts are kept on the server, and secrets are not to lie in them. */
export interface Variable {
  id: number;
  name: string;
  value: string;
  secret: boolean;
}

export const PROBE_DEFAULTS = { initial_delay: 10, period: 10, timeout: 2, success_threshold: 1, failure_threshold: 30 };
export type ProbePart = keyof typeof PROBE_DEFAULTS;
/** A field that was emptied has its default. */
export type Probe = Record<ProbePart, number | null>;
const PROBES = ["readiness_probe", "liveness_probe"] as const;
export type ProbeKind = (typeof PROBES)[number];

/** Drafts from before a number was known have none. */
export interface RunSettings extends Numbers {
  retries: boolean;
  variables: Variable[];
  readiness_probe: Probe | null;
  liveness_probe: Probe | null;
}

/** The values of secret variables by their ids, for as long as the page is open. */
export type Secrets = Readonly<Record<number, string>>;

export const DEFAULT_SETTINGS: RunSettings = {
  ...(Object.fromEntries(NUMBER_NAMES.map((name) => [name, null])) as Numbers),
  retries: true,
  variables: [],
  readiness_probe: null,
  liveness_probe: null,
};

const SECONDS: Range = [1, 3600];
const TIMES: Range = [1, 1000];
/** As controlplane/deployments/serializers has them. */
const RANGES: Readonly<Record<ProbePart, Range>> = {
  initial_delay: [0, 3600],
  period: SECONDS,
  timeout: SECONDS,
  success_threshold: TIMES,
  failure_threshold: TIMES,
};

/** Sentences by field: `request_timeout_ms`, `readiness_probe.period`, `variable.3.name`, `variable.3.value`. */
export type Problems = Readonly<Record<string, string>>;

/** What the server would say, so that it need not be asked. */
function rangeProblem([least, most]: Range, value: number | null): string | null {
  if (value === null) return null;
  if (!Number.isInteger(value)) return t`${value}, expected a whole number ${least} to ${most}.`;
  return value < least || value > most ? t`${value} is out of range: expected ${least} to ${most}.` : null;
}

function nameProblem(name: string, all: readonly Variable[]): string | null {
  if (name === "" || name.includes("=") || /\p{C}/u.test(name))
    return t`'${name}' cannot be a variable: expected printable characters without '='.`;
  return all.filter((one) => one.name === name).length > 1 ? t`${name} is there twice.` : null;
}

function valueProblem({ id, value, secret }: Variable, secrets: Secrets): string | null {
  if (secret && !secrets[id]) return t`Type the value: secrets are not kept in drafts.`;
  return secret || value.trim() !== "" ? null : t`It is empty: type the value.`;
}

/** Without rows in which nothing was typed yet. */
const written = (settings: RunSettings, secrets: Secrets): Variable[] =>
  settings.variables.filter((one) => one.name !== "" || one.value !== "" || Boolean(secrets[one.id]));

export function settingsProblems(settings: RunSettings, secrets: Secrets): Problems {
  const variables = written(settings, secrets);
  const found: [string, string | null][] = [
    ...NUMBER_NAMES.map((name): [string, string | null] => [name, rangeProblem(NUMBERS[name].range, settings[name] ?? null)]),
    ...PROBES.flatMap((kind) =>
      Object.entries(settings[kind] ?? {}).map(([part, value]): [string, string | null] => [
        `${kind}.${part}`,
        rangeProblem(RANGES[part as ProbePart], value),
      ]),
    ),
    ...variables.flatMap((one): [string, string | null][] => [
      [`variable.${one.id}.name`, nameProblem(one.name, variables)],
      [`variable.${one.id}.value`, valueProblem(one, secrets)],
    ]),
  ];
  return Object.fromEntries(found.filter((pair): pair is [string, string] => pair[1] !== null));
}

/** DRF's nested messages by dotted path: the first about each field. */
function flat(errors: unknown, path: readonly string[] = []): [string[], string][] {
  if (typeof errors === "string") return [[[...path], errors]];
  if (Array.isArray(errors)) return flat(errors[0], path);
  if (errors === null || typeof errors !== "object") return [];
  return Object.entries(errors).flatMap(([name, inner]) => flat(inner, [...path, name]));
}

/** What the server refused of these settings, beside the fields that it is about. */
export function refusedSettings(error: unknown, settings: RunSettings): Problems {
  if (!(error instanceof ApiProblem)) return {};
  const said = error.body["errors"];
  const messages: [string[], string][] = said === undefined && error.field ? [[error.field.split("."), error.detail]] : flat(said);
  return Object.fromEntries(
    messages.map(([[first = "", ...rest], words]): [string, string] => {
      if (first !== "environment" && first !== "secret_environment") return [[first, ...rest].join("."), words];
      const name = rest.join(".");
      const secret = first === "secret_environment";
      const about = settings.variables.find((one) => one.name === name && one.secret === secret);
      return about ? [`variable.${about.id}.value`, words] : [first, words];
    }),
  );
}

function probeBody(probe: Probe) {
  return Object.fromEntries(
    Object.entries(probe).map(([part, value]) => [part, value ?? PROBE_DEFAULTS[part as ProbePart]]),
  ) as typeof PROBE_DEFAULTS;
}

const byName = (variables: readonly Variable[], value: (one: Variable) => string) =>
  Object.fromEntries(variables.map((one) => [one.name, value(one)]));

/** What differs from the defaults, as `POST /deploy` takes it. */
export function settingsBody(settings: RunSettings, secrets: Secrets): Partial<DeployRequest> {
  const variables = written(settings, secrets);
  const open = variables.filter((one) => !one.secret);
  const secret = variables.filter((one) => one.secret);
  return {
    // What is 0 and may be, is none; what may not be was refused before.
    ...Object.fromEntries(NUMBER_NAMES.flatMap((name) => (settings[name] ? [[name, settings[name]]] : []))),
    ...(settings.retries ? {} : { retries: false }),
    ...(open.length === 0 ? {} : { environment: byName(open, (one) => one.value) }),
    ...(secret.length === 0 ? {} : { secret_environment: byName(secret, (one) => secrets[one.id] ?? "") }),
    ...(settings.readiness_probe === null ? {} : { readiness_probe: probeBody(settings.readiness_probe) }),
    ...(settings.liveness_probe === null ? {} : { liveness_probe: probeBody(settings.liveness_probe) }),
  };
}

/** The same in the words of a file; secrets have no place in files. */
export function settingsFile(settings: RunSettings): Record<string, unknown> {
  const body = settingsBody(settings, {});
  const numbers = (block?: string) =>
    Object.fromEntries(NUMBER_NAMES.flatMap((name) => (body[name] && NUMBERS[name].block === block ? [[name, body[name]]] : [])));
  const requests = numbers("request_settings");
  return {
    environment_variables: body.environment,
    request_settings: Object.keys(requests).length > 0 ? requests : undefined,
    ...numbers(),
    readiness_probe: body.readiness_probe,
    liveness_probe: body.liveness_probe,
  };
}

/** For code that is shown: where each secret's value goes. */
export const secretBlanks = (settings: RunSettings): Secrets =>
  Object.fromEntries(settings.variables.flatMap((one) => (one.secret ? [[one.id, `<${one.name}>`]] : [])));

export const nextId = (variables: readonly Variable[]): number => Math.max(0, ...variables.map((one) => one.id)) + 1;
