/** From a filled-in draft to a running operation: register what is not registered, then deploy. */
import { t } from "@lingui/core/macro";
import { createEndpoint, deploy } from "@/api/endpoints";
import { createConfigRevision, createModel } from "@/api/models";
import type { LineageStated, ModelVersion, Operation } from "@/api/types";
import { saidIn, STATED_FIELDS } from "@/components/lineage";
import { notifyDone } from "@/components/notify";
import { changedConfigs, type DeploySource } from "../config/source";
import type { DraftForm } from "./draft";
import { trafficBody } from "./first-traffic";
import { settingsBody, type Secrets } from "./settings";

type Registered = NonNullable<DraftForm["registered"]>;

async function register(source: DeploySource, form: DraftForm): Promise<Registered> {
  if (form.registered !== null) return form.registered;
  const configs = changedConfigs(source.models, form.texts);
  if (source.registered !== null) {
    // A version never changes: other texts are a revision over it.
    const { model, version, revision } = source.registered;
    if (Object.keys(configs).length === 0) return { model, version, revision };
    const made = await createConfigRevision(model, version, configs, "from the deploy wizard");
    return { model, version, revision: made.number };
  }
  const body = registerBody(source, form);
  const version = await createModel(body);
  if (!keeps(version, body.lineage))
    notifyDone(t`Version ${version.version} has this content already, and keeps what was stated of it before`);
  return { model: version.model, version: version.version, revision: version.config_revisions.at(-1)?.number ?? null };
}

/** Whether the version says what was stated; one that was there says what it said. */
export const keeps = ({ lineage }: Pick<ModelVersion, "lineage">, stated: LineageStated = {}): boolean =>
  STATED_FIELDS.every((field) => !stated[field] || lineage?.[field] === stated[field]);

/** What `POST /models` is sent for a fresh upload. */
export function registerBody(source: DeploySource, form: DraftForm) {
  const configs = changedConfigs(source.models, form.texts);
  const lineage = saidIn(form.lineage);
  return {
    name: form.modelName,
    upload_id: source.uploadId ?? "",
    ...(Object.keys(configs).length > 0 ? { configs } : {}),
    ...(Object.keys(lineage).length > 0 ? { lineage } : {}),
  };
}

/** `onRegistered` hears of the version, so that a second try after a failure does not make another. */
export async function startDeploy(
  source: DeploySource,
  form: DraftForm,
  secrets: Secrets,
  onRegistered: (registered: Registered) => void,
): Promise<Operation> {
  const registered = await register(source, form);
  onRegistered(registered);
  if (form.target === "new" && form.authMode !== "key") await createEndpoint({ name: form.endpoint, auth_mode: form.authMode });
  return deploy(deployBody(form, registered, secrets));
}

/** What `POST /deploy` is sent. */
export function deployBody(form: DraftForm, registered: Registered, secrets: Secrets) {
  return {
    model: registered.model,
    version: registered.version,
    ...(registered.revision === null ? {} : { config_revision: registered.revision }),
    endpoint: form.endpoint,
    deployment: form.deployment,
    instance_count: form.instanceCount,
    ...(form.instanceType ? { instance_type: form.instanceType } : {}),
    ...(form.antiAffinity === "preferred" ? {} : { anti_affinity: form.antiAffinity }),
    ...(Object.keys(form.nodeLabels).length > 0 ? { node_labels: form.nodeLabels } : {}),
    ...settingsBody(form.settings, secrets),
    ...trafficBody(form.traffic),
  };
}
