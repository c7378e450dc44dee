/** Which version and configuration a deployment runs, in words. */
import { t } from "@lingui/core/macro";
import type { Deployment } from "@/api/types";

export function runsText({ model, version, config_revision: revision }: Deployment): string {
  return revision === null ? t`${model} v${version}, as uploaded` : t`${model} v${version}, configuration ${revision}`;
}
