/** Configure and Deploy: they share the draft, and the last of them starts the operation. */
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { deploy } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { createModel, modelQuery } from "@/api/models";
import { ApiProblem } from "@/api/problem";
import { paths } from "@/app/paths";
import { useDraft, type Draft } from "../config/draft";
import { suggestEndpoint } from "../config/names";
import { changedConfigs, type DeploySource } from "../config/source";
import { ConfigureStep } from "../steps/configure-step";
import { DeployStep } from "../steps/deploy-step";
import { modelNameFrom } from "../upload/accepted-files";
import type { WizardStep } from "./deploy-page";

export interface LaterStepsProps {
  step: WizardStep;
  source: DeploySource;
  /** Deploy to this endpoint, from a link on its page. */
  endpoint: string | null;
  onStep: (step: WizardStep) => void;
}

function firstDraft(source: DeploySource, endpoint: string | null): Draft {
  const only = source.models.length === 1 ? source.models[0] : undefined;
  const modelName = source.registered?.model ?? modelNameFrom(only?.name || source.filename);
  return {
    modelName,
    texts: source.models.map((model) => model.startText),
    target: endpoint === null ? "new" : "existing",
    endpoint: endpoint ?? suggestEndpoint(modelName),
    deployment: endpoint === null ? "blue" : "green",
    instanceCount: 1,
    takeTraffic: endpoint === null,
    registered: source.registered ? { ...source.registered, revision: null } : null,
  };
}

/** What saving under this name means. */
function useNameNote(name: string, source: DeploySource): string {
  const [settled] = useDebouncedValue(name, 300);
  const { data, error } = useQuery({
    ...modelQuery(settled),
    enabled: source.editable && settled !== "",
    retry: (count, problem) => !(problem instanceof ApiProblem && problem.status === 404) && count < 2,
  });
  if (source.registered) return `version ${source.registered.version}`;
  if (data && data.name === name) return `becomes version ${(data.latest_version ?? 0) + 1}`;
  return error ? "a new model" : "";
}

async function register(source: DeploySource, draft: Draft): Promise<NonNullable<Draft["registered"]>> {
  if (draft.registered !== null) return draft.registered;
  const configs = changedConfigs(source.models, draft.texts);
  const version = await createModel({
    name: draft.modelName,
    upload_id: source.uploadId ?? "",
    ...(Object.keys(configs).length > 0 ? { configs } : {}),
  });
  return { model: version.model, version: version.version, revision: version.config_revisions.at(-1)?.number ?? null };
}

export function LaterSteps({ step, source, endpoint, onStep }: LaterStepsProps) {
  const key = source.uploadId ?? `${source.registered?.model}@${source.registered?.version}`;
  const { draft, change, discard } = useDraft(key, firstDraft(source, endpoint));
  const nameNote = useNameNote(draft.modelName, source);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const start = useMutation({
    mutationFn: async () => {
      const registered = await register(source, draft);
      // Kept, so that a second try after a failure below does not make a second version.
      change({ registered });
      return deploy({
        model: registered.model,
        version: registered.version,
        ...(registered.revision === null ? {} : { config_revision: registered.revision }),
        endpoint: draft.endpoint,
        deployment: draft.deployment,
        instance_count: draft.instanceCount,
        traffic: draft.takeTraffic ? 100 : 0,
      });
    },
    onSuccess: (operation) => {
      discard();
      queryClient.setQueryData(keys.operations.one(operation.id), operation);
      void queryClient.invalidateQueries({ queryKey: keys.models.all });
      void queryClient.invalidateQueries({ queryKey: keys.endpoints.all });
      void navigate(paths.operation(operation.id));
    },
  });
  if (step === "configure") {
    return (
      <ConfigureStep
        source={source}
        draft={draft}
        onDraft={change}
        nameNote={nameNote}
        onBack={() => onStep("inspect")}
        onForward={() => onStep("deploy")}
      />
    );
  }
  return (
    <DeployStep
      source={source}
      draft={draft}
      onDraft={change}
      nameNote={nameNote}
      busy={start.isPending || start.isSuccess}
      failure={start.error}
      onBack={() => onStep("configure")}
      onDeploy={() => start.mutate()}
    />
  );
}
