/** The steps that need the model: they share the form, and the last of them starts the operation. */
import { t } from "@lingui/core/macro";
import { useDebouncedValue } from "@mantine/hooks";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { endpointsNowQuery } from "@/api/endpoints";
import { keys } from "@/api/keys";
import { allModelsQuery } from "@/api/models";
import type { Upload } from "@/api/types";
import { paths } from "@/app/paths";
import type { WizardStep } from "@/app/search";
import { lineageProblems } from "@/components/lineage-fields";
import { notifyProblem } from "@/components/notify";
import { freeEndpointName, freeModelName, signature, suggestEndpoint } from "../config/names";
import type { DeploySource } from "../config/source";
import { formOf, type DraftForm } from "../draft/draft";
import type { Secrets } from "../draft/settings";
import { startDeploy } from "../draft/start-deploy";
import type { StoredDraftControl } from "../draft/use-stored-draft";
import { ConfigureStep } from "../steps/configure-step";
import { DeployStep } from "../steps/deploy-step";
import { type Addition, InspectStep } from "../steps/inspect-step";
import { OriginSection } from "../steps/origin-section";
import { type Clash, NameClash } from "../steps/name-clash";
import { NotTried } from "../steps/not-tried";
import { PlacementStep } from "../steps/placement-step";

export interface LaterStepsProps {
  step: WizardStep;
  source: DeploySource;
  upload: Upload | null;
  stored: StoredDraftControl;
  /** A line of a text to look at first: what a failed deployment complained about. */
  mark: { line: number; model: string | null } | null;
  addition: Addition;
  onStep: (step: WizardStep) => void;
  onRestart: () => void;
}

interface Naming {
  note: string;
  /** Whether it is known what the name means. */
  known: boolean;
  clash: Clash | null;
}

/** What saving under this name means; and whether that is a model of other inputs and outputs. */
function useNaming({ modelName: name, nextOf }: DraftForm, source: DeploySource): Naming {
  const [settled] = useDebouncedValue(name, 300);
  // why a search: asking for a model that is not there would be an error on the browser's console.
  const { data } = useQuery({
    ...allModelsQuery(settled),
    enabled: source.registered === null && settled !== "",
  });
  if (source.registered) return { note: t`version ${source.registered.version}`, known: true, clash: null };
  if (!data || settled !== name) return { note: "", known: name === "", clash: null };
  const model = data.items.find((one) => one.name === name);
  if (!model) return { note: t`a new model`, known: true, clash: null };
  const note = t`becomes version ${model.latest_version + 1}`;
  const there = model.latest ? signature(model.latest.repo_models) : "";
  const here = signature(source.models);
  if (!model.latest || there === here || nextOf === name) return { note, known: true, clash: null };
  const free = freeModelName(
    name,
    data.items.map((one) => one.name),
  );
  return { note, known: true, clash: { model: name, version: model.latest.version, by: model.latest.created_by, there, here, free } };
}

export function LaterSteps({ step, source, upload, stored, mark, addition, onStep, onRestart }: LaterStepsProps) {
  const data = stored.data;
  if (data === null) throw new Error("The steps are shown once their draft is loaded");
  const form = useMemo(() => formOf(source, data), [source, data]);
  const { change: changeDraft, setTitle } = stored;
  const typed = data.form;
  const change = useCallback((part: Partial<DraftForm>) => changeDraft({ form: { ...typed, ...part } }), [changeDraft, typed]);
  useEffect(() => setTitle(form.modelName), [form.modelName, setTitle]);
  const naming = useNaming(form, source);
  const nameNote = naming.note;
  const question =
    naming.clash === null ? null : (
      <NameClash
        clash={naming.clash}
        onName={(modelName) => change({ modelName, registered: null, ...(form.named ? {} : { endpoint: suggestEndpoint(modelName) }) })}
        onNext={() => change({ nextOf: form.modelName })}
      />
    );
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [untried, setUntried] = useState<string | null>(null);
  // Here and nowhere else: a draft is stored.
  const [secrets, setSecrets] = useState<Secrets>({});
  const start = useMutation({
    mutationFn: async (wanted: DraftForm) => startDeploy(source, wanted, secrets, (registered) => change({ ...wanted, registered })),
    onSuccess: (operation) => {
      queryClient.setQueryData(keys.operations.one(operation.id), operation);
      void queryClient.invalidateQueries({ queryKey: keys.models.all });
      void queryClient.invalidateQueries({ queryKey: keys.endpoints.all });
      // From here on the version and the operation are the truth.
      stored.discard(false).catch((error: unknown) => notifyProblem(error, t`The draft could not be removed`));
      void navigate(paths.operation(operation.id));
    },
  });
  const defaults = useMutation({
    mutationFn: async () => {
      const taken = (await queryClient.fetchQuery(endpointsNowQuery())).items.map((one) => one.name);
      const endpoint = form.target === "new" ? freeEndpointName(form.endpoint, taken) : form.endpoint;
      return start.mutateAsync({ ...form, endpoint });
    },
  });
  const busy = start.isPending || start.isSuccess;
  if (step === "inspect") {
    // A version that is there says where it comes from on its own page.
    const fresh = source.registered === null && form.registered === null;
    const problems = fresh ? lineageProblems(form.lineage) : {};
    return (
      <InspectStep
        upload={upload}
        source={source}
        question={question}
        origin={
          fresh ? (
            <OriginSection stated={form.lineage} found={source.lineage} problems={problems} onStated={(lineage) => change({ lineage })} />
          ) : undefined
        }
        originWrong={Object.keys(problems).length > 0}
        addition={addition}
        onBack={onRestart}
        onForward={() => onStep("configure")}
        defaults={{
          endpoint: form.endpoint,
          busy: busy || defaults.isPending || !naming.known,
          failure: defaults.error,
          start: () => defaults.mutate(),
        }}
      />
    );
  }
  if (step === "configure") {
    return (
      <ConfigureStep
        source={source}
        form={form}
        onForm={change}
        nameNote={nameNote}
        question={question}
        mark={mark}
        onBack={() => onStep("inspect")}
        onForward={(why) => {
          setUntried(why);
          onStep("placement");
        }}
      />
    );
  }
  if (step === "placement") {
    return (
      <>
        {untried === null ? null : <NotTried why={untried} />}
        <PlacementStep source={source} form={form} onForm={change} onBack={() => onStep("configure")} onForward={() => onStep("deploy")} />
      </>
    );
  }
  return (
    <DeployStep
      source={source}
      draft={form}
      onDraft={change}
      nameNote={nameNote}
      question={question}
      busy={busy}
      failure={start.error}
      refused={start.variables?.settings}
      secrets={secrets}
      onSecrets={setSecrets}
      onBack={() => onStep("placement")}
      onConfigure={() => onStep("configure")}
      onOrigin={() => onStep("inspect")}
      onDeploy={() => start.mutate(form)}
    />
  );
}
