/** The model that a draft is about: its upload, watched until it is inspected, or its registered version. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { modelVersionQuery } from "@/api/models";
import type { Upload } from "@/api/types";
import { uploadQuery } from "@/api/uploads";
import { sourceOfUpload, sourceOfVersion, type DeploySource } from "../config/source";
import type { DraftOrigin } from "./draft";

const POLL_MS = 500;
const SETTLED = new Set(["ready", "failed"]);

export interface DraftSource {
  upload: Upload | null;
  source: DeploySource | null;
  /** The upload is still being sent or inspected. */
  busy: boolean;
  error: unknown;
}

export function useDraftSource(origin: DraftOrigin | null): DraftSource {
  const upload = useQuery({
    ...uploadQuery(origin?.kind === "upload" ? origin.upload : ""),
    enabled: origin?.kind === "upload",
    refetchInterval: (query) => (query.state.data && SETTLED.has(query.state.data.state) ? false : POLL_MS),
  });
  const version = useQuery({
    ...modelVersionQuery(origin?.kind === "version" ? origin.model : "", origin?.kind === "version" ? origin.version : "latest"),
    enabled: origin?.kind === "version",
  });
  const uploaded = origin?.kind === "upload" ? upload.data : undefined;
  const registered = origin?.kind === "version" ? version.data : undefined;
  const source = useMemo(
    () => (uploaded ? sourceOfUpload(uploaded) : registered ? sourceOfVersion(registered) : null),
    [uploaded, registered],
  );
  return {
    upload: uploaded ?? null,
    source,
    busy: uploaded !== undefined && !SETTLED.has(uploaded.state),
    error: origin === null ? null : (upload.error ?? version.error),
  };
}
