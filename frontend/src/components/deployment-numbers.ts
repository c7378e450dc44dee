/** The settings of a deployment that are one number: what forms, files and the comparison of revisions make of each. */
import { t } from "@lingui/core/macro";
import type { DeployRequest } from "@/api/types";
import { currentLanguage } from "@/i18n/language";

export type Range = readonly [least: number, most: number];

interface NumberSetting {
  label: string;
  /** Empty: a count. */
  suffix: string;
  /** What stands where nothing was typed. */
  placeholder: string;
  /** As controlplane/deployments/spec.py has it. */
  range: Range;
  /** A few words on how it stands; none where that goes without saying. */
  told: (value: number | null) => string;
  /** The block of a deployment's file that it stands in. */
  block?: "request_settings";
  /** What a revision calls it: a change starts new replicas. */
  revision?: string;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const LONGEST_MS = 3_600_000;
const count = (value: number) => value.toLocaleString(currentLanguage(), { maximumFractionDigits: 3 });

const DECLARED = {
  request_timeout_ms: {
    label: t`Time-out`,
    suffix: "ms",
    placeholder: count(DEFAULT_TIMEOUT_MS),
    range: [1, LONGEST_MS],
    told: (value) => t`${count((value ?? DEFAULT_TIMEOUT_MS) / 1_000)} s each`,
    block: "request_settings",
  },
  max_concurrent_requests_per_instance: {
    label: t`At a time, for each replica`,
    suffix: "",
    placeholder: t`any number`,
    range: [1, 10_000],
    told: (value) => t`${value === null ? t`any number` : count(value)} at a time`,
    block: "request_settings",
  },
  max_queue_wait_ms: {
    label: t`Longest wait in a queue`,
    suffix: "ms",
    placeholder: t`as the model says`,
    range: [0, LONGEST_MS],
    told: (value) => (value ? t`wait ${count(value)} ms at most` : ""),
    block: "request_settings",
    revision: t`longest queue wait`,
  },
  response_cache_bytes: {
    label: t`Response cache`,
    suffix: t`bytes`,
    placeholder: t({ message: "none", context: "of a cache" }),
    range: [1_024, 2 ** 40],
    told: (value) => (value ? t`${count(value)} bytes of answers kept` : ""),
    revision: t`response cache`,
  },
} as const satisfies Partial<Record<keyof DeployRequest, NumberSetting>>;

type NumberName = keyof typeof DECLARED;
/** null: the default. */
export type Numbers = Partial<Record<NumberName, number | null>>;
export const NUMBERS: Readonly<Record<NumberName, NumberSetting>> = DECLARED;
export const NUMBER_NAMES = Object.keys(DECLARED) as NumberName[];

type Rolled = { [Name in NumberName]: (typeof DECLARED)[Name] extends { revision: string } ? Name : never }[NumberName];
export const ROLLED_NUMBERS = NUMBER_NAMES.filter((name): name is Rolled => NUMBERS[name].revision !== undefined);
