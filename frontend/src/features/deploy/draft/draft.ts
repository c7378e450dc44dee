/** What the wizard holds of one deployment, and how it is kept: a draft of another studio version may lack fields. */
import { suggestEndpoint } from "../config/names";
import type { DeploySource } from "../config/source";
import { modelNameFrom } from "../upload/accepted-files";
import { NOTHING_STATED, type StatedLineage } from "@/components/lineage";
import { firstTraffic, type FirstTraffic, storedTraffic } from "./first-traffic";
import { DEFAULT_SETTINGS, type RunSettings } from "./settings";

/** Where the model comes from. */
export type DraftOrigin = { kind: "upload"; upload: string } | { kind: "version"; model: string; version: number };

/** `of`: a digest of what was tried. */
export interface Tried {
  id: string;
  of: string;
}

/** The fields of the later steps. */
export interface DraftForm {
  modelName: string;
  /** The model of other inputs and outputs that somebody said this is the next version of; empty: none. */
  nextOf: string;
  /** config.pbtxt per repository model, by position: names may hold any character. */
  texts: string[];
  target: "new" | "existing";
  endpoint: string;
  deployment: string;
  /** Endpoint or deployment were named by hand: suggestions stay away. */
  named: boolean;
  authMode: "key" | "aml_token";
  instanceCount: number;
  /** What one replica asks of a machine; empty: nothing. */
  instanceType: string;
  antiAffinity: "preferred" | "required";
  /** Labels that a node must have; none: any node. */
  nodeLabels: Record<string, string>;
  /** Deploy although the preview says that it does not fit. */
  tryAnyway: boolean;
  traffic: FirstTraffic;
  settings: RunSettings;
  /** Where the file comes from, as somebody states. */
  lineage: StatedLineage;
  /** Registered by an earlier try of the last step. */
  registered: { model: string; version: number; revision: number | null } | null;
  /** The last trial, and what of: the same is not tried twice. */
  tried: Tried | null;
}

export type DraftData = {
  origin: DraftOrigin | null;
  /** Deploy to this endpoint, from a link on its page; and to this deployment of it. */
  endpoint: string | null;
  deployment: string | null;
  /** What was changed so far; the rest follows from the model. `takeTraffic`: of drafts of before there was a choice. */
  form: Partial<DraftForm> & { takeTraffic?: boolean };
};

export const EMPTY_DRAFT: DraftData = { origin: null, endpoint: null, deployment: null, form: {} };

/** `data` of a stored draft, as far as it can be understood. */
export function draftData(data: Record<string, unknown>): DraftData {
  const known = data as Partial<DraftData>;
  return { ...EMPTY_DRAFT, ...known, form: known.form ?? {} };
}

/** What the form starts with, from the model alone. */
export function firstForm(source: DeploySource, { endpoint, deployment }: Pick<DraftData, "endpoint" | "deployment">): DraftForm {
  const only = source.models.length === 1 ? source.models[0] : undefined;
  const modelName = source.registered?.model ?? modelNameFrom(only?.name || source.filename);
  return {
    modelName,
    nextOf: "",
    texts: source.models.map((model) => model.startText),
    target: endpoint === null ? "new" : "existing",
    endpoint: endpoint ?? suggestEndpoint(modelName),
    deployment: deployment ?? (endpoint === null ? "blue" : "green"),
    named: false,
    authMode: "key",
    instanceCount: 1,
    instanceType: "",
    antiAffinity: "preferred",
    nodeLabels: {},
    tryAnyway: false,
    settings: DEFAULT_SETTINGS,
    lineage: NOTHING_STATED,
    traffic: firstTraffic(endpoint === null ? "all" : "none"),
    registered: source.registered ? { ...source.registered, revision: source.registered.revision } : null,
    tried: null,
  };
}

/** The form with what was typed; texts of an archive with another number of models are of another file. */
export function formOf(source: DeploySource, data: DraftData): DraftForm {
  const first = firstForm(source, data);
  const texts = data.form.texts?.length === first.texts.length ? data.form.texts : first.texts;
  return {
    ...first,
    ...data.form,
    texts,
    settings: { ...first.settings, ...data.form.settings },
    lineage: { ...first.lineage, ...data.form.lineage },
    traffic: storedTraffic(first.traffic, data.form),
  };
}
