/** Rules by header and what clients are told apart by, as fields of a form, and back. Pure: what is allowed is the server's word. */
import { t } from "@lingui/core/macro";
import type { Endpoint, Sticky, TrafficRule } from "@/api/types";

export const MOST_RULES = 16;
export const KINDS = [
  { value: "exact", label: t`is` },
  { value: "prefix", label: t`begins with` },
  { value: "regex", label: t`matches` },
  { value: "present", label: t`is there` },
] as const;
type Kind = (typeof KINDS)[number]["value"];
export const BY = [
  { value: "none", label: t`Nothing: each request is drawn by itself` },
  { value: "header", label: t`A header` },
  { value: "cookie", label: t`A cookie` },
] as const;
type By = (typeof BY)[number]["value"];

export interface RuleDraft {
  /** Of this draft alone, so that a row keeps its fields while others move. */
  id: string;
  header: string;
  kind: Kind;
  value: string;
  deployment: string;
}

export interface RoutingDraft {
  rules: RuleDraft[];
  by: By;
  name: string;
  /** Empty: the server's default. */
  maxAge: number | "";
}

export interface RoutingBody {
  traffic_rules: TrafficRule[];
  sticky: Sticky | null;
}

type Routed = Pick<Endpoint, "traffic_rules" | "sticky">;

const kindOf = (rule: TrafficRule): Kind =>
  rule.exact !== undefined ? "exact" : rule.prefix !== undefined ? "prefix" : rule.regex !== undefined ? "regex" : "present";

export function draftOf({ traffic_rules: rules, sticky }: Routed): RoutingDraft {
  return {
    rules: rules.map((rule, index) => ({
      id: `saved-${index}`,
      header: rule.header,
      kind: kindOf(rule),
      value: rule.exact ?? rule.prefix ?? rule.regex ?? "",
      deployment: rule.deployment,
    })),
    by: sticky?.header === undefined ? (sticky?.cookie === undefined ? "none" : "cookie") : "header",
    name: sticky?.header ?? sticky?.cookie ?? "",
    maxAge: sticky?.max_age_s ?? "",
  };
}

export function bodyOf({ rules, by, name, maxAge }: RoutingDraft): RoutingBody {
  const age = maxAge === "" ? {} : { max_age_s: maxAge };
  return {
    traffic_rules: rules.map(({ header, kind, value, deployment }) => {
      switch (kind) {
        case "exact":
          return { header, exact: value, deployment };
        case "prefix":
          return { header, prefix: value, deployment };
        case "regex":
          return { header, regex: value, deployment };
        case "present":
          return { header, present: true, deployment };
      }
    }),
    sticky: by === "none" ? null : by === "header" ? { header: name } : { cookie: name, ...age },
  };
}

export const sameDraft = (a: RoutingDraft, b: RoutingDraft): boolean => JSON.stringify(bodyOf(a)) === JSON.stringify(bodyOf(b));

/** The rule one place further up (-1) or down (1); at an end it stays. */
export function moved(rules: readonly RuleDraft[], id: string, by: -1 | 1): RuleDraft[] {
  const from = rules.findIndex((rule) => rule.id === id);
  const to = from + by;
  const [own, other] = [rules[from], rules[to]];
  if (!own || !other) return [...rules];
  return rules.map((rule, index) => (index === from ? other : index === to ? own : rule));
}

const SIGNS: Readonly<Record<Kind, string>> = { exact: "=", prefix: "^=", regex: "~", present: "" };

/** As `shoal traffic --rule` takes it. */
export function ruleText({ header, kind, value, deployment }: RuleDraft): string {
  return `${header}${SIGNS[kind]}${kind === "present" ? "" : value}->${deployment}`;
}
