/** What an action of the studio is in other words: commands, calls and files that do the same. */
import { t } from "@lingui/core/macro";

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface ApiCall {
  method: Method;
  /** As made by `apiPath`: `/api/v1/endpoints/digits/traffic`. */
  path: string;
  query?: Record<string, string | number | boolean>;
  body?: unknown;
  /** Where several calls make up the action: what this one is for. */
  note?: string;
}

interface YamlFile {
  /** Name of the file, as the command below it spells it: `green.yml`. */
  name: string;
  /** The document; keys without a value are left out. */
  document: Record<string, unknown>;
  /** The command that takes the file, if it is not `shoal apply -f NAME`. */
  command?: readonly string[];
}

/** Leave a form out where there is none: an absent tab is more honest than one that fails. */
export interface Recipe {
  /** The action, as its button says it: "Drain gpu-a1". */
  title: string;
  /** One list of arguments per command: `[["shoal", "node", "drain", "gpu-a1"]]`. */
  cli?: readonly (readonly string[])[];
  api?: readonly ApiCall[];
  yaml?: readonly YamlFile[];
}

const FORMS = ["cli", "api", "yaml"] as const;
export type Form = (typeof FORMS)[number];

/** The forms that this recipe has, in the order of the tabs. */
export const formsOf = (recipe: Recipe): Form[] => FORMS.filter((form) => (recipe[form]?.length ?? 0) > 0);

const SHORT: Record<Form, string> = { cli: "CLI", api: "API", yaml: "YAML" };

/** What the button promises is what there is: "Show as CLI / API". */
export const asCodeWords = (recipe: Recipe, words = (forms: string) => t`Show as ${forms}`): string =>
  words(
    formsOf(recipe)
      .map((form) => SHORT[form])
      .join(" / "),
  );
