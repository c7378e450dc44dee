/** The deployment that a draft describes, in the words of the command line, the REST API and of files. */
import { t } from "@lingui/core/macro";
import { apiPath } from "@/api/paths";
import type { Recipe } from "@/components/as-code";
import { STATED_FIELDS, type StatedField } from "@/components/lineage";
import { changedConfigs, type DeploySource } from "../config/source";
import type { DraftForm } from "./draft";
import { trafficOptions } from "./first-traffic";
import { secretBlanks, settingsFile } from "./settings";
import { deployBody, registerBody } from "./start-deploy";

function deploymentFile(form: DraftForm, version: number | null): Record<string, unknown> {
  return {
    name: form.deployment,
    endpoint_name: form.endpoint,
    model: version === null ? `azureml:${form.modelName}@latest` : `azureml:${form.modelName}:${version}`,
    instance_type: form.instanceType || undefined,
    instance_count: form.instanceCount,
    ...settingsFile(form.settings),
  };
}

const OPTIONS: Record<StatedField, string> = {
  address: "--source",
  run: "--run",
  run_url: "--run-url",
  commit: "--commit",
  dataset: "--dataset",
};

const originOptions = ({ lineage }: DraftForm): string[] =>
  STATED_FIELDS.flatMap((field) => (lineage[field].trim() ? [OPTIONS[field], lineage[field].trim()] : []));

export function deployRecipe(source: DeploySource, form: DraftForm): Recipe {
  const fresh = source.registered === null;
  const version = form.registered?.version ?? source.registered?.version ?? null;
  const file = `${form.deployment}.yml`;
  const configs = changedConfigs(source.models, form.texts);
  const edited = Object.keys(configs).length > 0;
  const create = ["shoal", "online-deployment", "create", "-f", file, ...trafficOptions(form.traffic)];
  const endpoint = form.target === "new";
  const registered = form.registered ?? { model: form.modelName, version: version ?? 1, revision: null };
  return {
    title: t`Deploy ${form.deployment} to ${form.endpoint}`,
    // An edited text goes with the files that are registered: the command line takes it from there.
    cli: [
      ...(fresh
        ? [
            [
              "shoal",
              "model",
              "create",
              "--name",
              form.modelName,
              "--path",
              source.filename,
              "--type",
              "triton_model",
              ...originOptions(form),
            ],
          ]
        : []),
      ...(endpoint ? [["shoal", "online-endpoint", "create", "-n", form.endpoint, "--auth-mode", form.authMode]] : []),
      create,
    ],
    api: [
      ...(fresh
        ? [
            {
              method: "POST" as const,
              path: apiPath("models"),
              note: t`Register the uploaded file`,
              body: registerBody(source, form),
            },
          ]
        : edited
          ? [
              {
                method: "POST" as const,
                path: apiPath("models", registered.model, "versions", registered.version, "config-revisions"),
                note: t`Keep the edited configuration`,
                body: { configs },
              },
            ]
          : []),
      ...(endpoint && form.authMode !== "key"
        ? [
            {
              method: "POST" as const,
              path: apiPath("endpoints"),
              note: t`Make the endpoint`,
              body: { name: form.endpoint, auth_mode: form.authMode },
            },
          ]
        : []),
      { method: "POST", path: apiPath("deploy"), note: t`Deploy it`, body: deployBody(form, registered, secretBlanks(form.settings)) },
    ],
    yaml: [
      ...(endpoint ? [{ name: "endpoint.yml", document: { name: form.endpoint, auth_mode: form.authMode } }] : []),
      { name: file, document: deploymentFile(form, version), command: create },
    ],
  };
}
