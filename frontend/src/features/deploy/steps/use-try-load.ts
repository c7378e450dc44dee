/** One trial at a time, of the configuration as it is: what was tried is known again, also after a reload. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { cancelTryLoad, isTried, startTryLoad, tryLoadQuery, type TryLoad, type TryLoadAsk } from "@/api/placement";
import { ApiProblem } from "@/api/problem";
import { changedConfigs, type DeploySource } from "../config/source";
import type { DraftForm, Tried } from "../draft/draft";
import { crc32 } from "../upload/crc32";

export interface TryLoadControl {
  /** What would be tried, as a digest. */
  of: string;
  /** The trial of just that; undefined: there is none. */
  trial: TryLoad | undefined;
  running: boolean;
  /** Why none could be started. */
  failure: unknown;
  /** `onlyApproved`: nobody asked for it, so nothing runs that nobody approved. */
  start: (onlyApproved: boolean, onError?: (error: unknown) => void) => void;
  cancel: () => void;
  canceling: boolean;
}

function tryLoadAsk(source: DeploySource, { texts, instanceType }: Pick<DraftForm, "texts" | "instanceType">): TryLoadAsk {
  const target = source.registered
    ? {
        model: source.registered.model,
        version: String(source.registered.version),
        ...(source.registered.revision === null ? {} : { config_revision: source.registered.revision }),
      }
    : { upload_id: source.uploadId ?? "" };
  return { ...target, configs: changedConfigs(source.models, texts), instance_type: instanceType };
}

/** Not proof against people who look for two texts with one digest: they would deceive themselves. */
function digestOf(ask: TryLoadAsk): string {
  const bytes = new TextEncoder().encode(JSON.stringify(ask));
  return `${bytes.length}-${crc32(bytes).toString(16)}`;
}

export function useTryLoad(
  source: DeploySource,
  form: Pick<DraftForm, "texts" | "instanceType">,
  tried: Tried | null,
  onTried: (tried: Tried | null) => void,
): TryLoadControl {
  const { texts, instanceType } = form;
  const ask = useMemo(() => tryLoadAsk(source, { texts, instanceType }), [source, texts, instanceType]);
  const of = useMemo(() => digestOf(ask), [ask]);
  const start = useMutation({
    mutationFn: (wanted: { ask: TryLoadAsk; of: string }) => startTryLoad(wanted.ask),
    onSuccess: (trial, wanted) => onTried({ id: trial.id, of: wanted.of }),
  });
  const cancel = useMutation({ mutationFn: cancelTryLoad });
  const id = tried !== null && tried.of === of ? tried.id : null;
  const { data, error } = useQuery({
    ...tryLoadQuery(id ?? ""),
    enabled: id !== null,
    // They are kept for a day, drafts for longer.
    retry: (count, failure) => !(failure instanceof ApiProblem && failure.status === 404) && count < 3,
  });
  const asked = start.variables?.of === of;
  const trial = id === null ? undefined : data;
  return {
    of,
    trial,
    running: (asked && start.isPending) || (id !== null && error === null && !(trial && isTried(trial))),
    failure: asked ? start.error : null,
    start: (onlyApproved, onError) =>
      start.mutate({ ask: onlyApproved ? { ...ask, only_approved: true } : ask, of }, onError ? { onError } : {}),
    cancel: () => {
      // What runs on for an earlier text, too.
      if (tried !== null) cancel.mutate(tried.id);
    },
    canceling: cancel.isPending,
  };
}
