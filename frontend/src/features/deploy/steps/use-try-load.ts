/** One trial at a time, of the configuration as it is: what was tried is known again, also after a reload. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo, useRef } from "react";
import { cancelTryLoad, startTryLoad, tryLoadQuery, type TryLoad, type TryLoadAsk } from "@/api/placement";
import { isGone, isUnderWay } from "@/api/runs";
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
  const cancel = useMutation({ mutationFn: cancelTryLoad });
  // Cancelled before it had begun: there was nothing to name yet.
  const unwanted = useRef(false);
  const start = useMutation({
    mutationFn: (wanted: { ask: TryLoadAsk; of: string }) => startTryLoad(wanted.ask),
    onSuccess: (trial, wanted) => {
      onTried({ id: trial.id, of: wanted.of });
      if (unwanted.current) cancel.mutate(trial.id);
    },
  });
  const id = tried !== null && tried.of === of ? tried.id : null;
  const { data, error } = useQuery({ ...tryLoadQuery(id ?? ""), enabled: id !== null });
  const asked = start.variables?.of === of;
  const trial = id === null || isGone(error) ? undefined : data;
  return {
    of,
    trial,
    running: (asked && start.isPending) || (id !== null && !isGone(error) && !(trial && !isUnderWay(trial))),
    failure: asked ? start.error : null,
    start: (onlyApproved, onError) => {
      unwanted.current = false;
      start.mutate({ ask: onlyApproved ? { ...ask, only_approved: true } : ask, of }, onError ? { onError } : {});
    },
    cancel: () => {
      // What runs on for an earlier text, too.
      if (start.isPending) unwanted.current = true;
      else if (tried !== null) cancel.mutate(tried.id);
    },
    canceling: cancel.isPending,
  };
}
