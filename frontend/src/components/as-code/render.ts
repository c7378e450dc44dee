/** The text of each tab. */
import { t } from "@lingui/core/macro";
import { curlCommand } from "./curl";
import type { Form, Recipe } from "./recipe";
import { shellLine } from "./shell-lines";
import { toYaml } from "./yaml";

export interface Piece {
  /** What is copied, for the accessible name: "command", "green.yml". */
  label: string;
  /** A line above the code. */
  caption?: string;
  code: string;
}

export function piecesOf(recipe: Recipe, form: Form, origin: string): Piece[] {
  if (form === "cli") return [{ label: t`command`, code: (recipe.cli ?? []).map(shellLine).join("\n") }];
  if (form === "api") {
    return (recipe.api ?? []).map((call) => ({
      label: `${call.method} ${call.path}`,
      caption: call.note ?? `${call.method} ${call.path}`,
      code: curlCommand(call, origin),
    }));
  }
  return (recipe.yaml ?? []).flatMap((file) => [
    { label: file.name, caption: file.name, code: toYaml(file.document) },
    {
      label: t`command that takes ${file.name}`,
      caption: t`then`,
      code: shellLine(file.command ?? ["shoal", "apply", "-f", file.name]),
    },
  ]);
}
