/** A draft begins by itself: when the server knows the upload, or when a link names a registered version. */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { createDraft } from "@/api/drafts";
import type { Upload } from "@/api/types";
import { keys } from "@/api/keys";
import type { WizardStep } from "@/app/search";
import type { UploadControl } from "../upload/use-upload";
import { EMPTY_DRAFT, type DraftData } from "./draft";

const route = getRouteApi("/app/deploy/new");

interface Wanted {
  title: string;
  data: DraftData;
  step: WizardStep;
}

export function useNewDraft({ view }: UploadControl, search: ReturnType<typeof route.useSearch>) {
  const navigate = route.useNavigate();
  const queryClient = useQueryClient();
  const begun = useRef<string>(undefined);
  const { line, repo } = search;
  const create = useMutation({
    mutationFn: ({ title, data }: Wanted) =>
      createDraft({ title, data, upload_id: data.origin?.kind === "upload" ? data.origin.upload : "" }),
    onSuccess: async (draft, { step }) => {
      queryClient.setQueryData(keys.drafts.one(draft.id), draft);
      void queryClient.invalidateQueries({ queryKey: keys.drafts.list });
      await navigate({
        search: { draft: draft.id, step, ...(line ? { line } : {}), ...(repo ? { repo } : {}) },
        replace: true,
      });
    },
  });
  const begin = create.mutate;
  const { endpoint, deployment, model, version, draft, step } = search;
  const { uploadId, filename, phase } = view;

  useEffect(() => {
    if (uploadId === null || draft !== undefined || begun.current === uploadId || phase === "canceled") return;
    begun.current = uploadId;
    const data: DraftData = {
      ...EMPTY_DRAFT,
      origin: { kind: "upload", upload: uploadId },
      endpoint: endpoint ?? null,
      deployment: deployment ?? null,
    };
    begin({ title: filename ?? "", data, step: "inspect" });
  }, [begin, deployment, draft, endpoint, filename, phase, uploadId]);

  useEffect(() => {
    const name = `${model}@${version}`;
    if (model === undefined || version === undefined || draft !== undefined || begun.current === name) return;
    begun.current = name;
    const data: DraftData = {
      ...EMPTY_DRAFT,
      origin: { kind: "version", model, version },
      endpoint: endpoint ?? null,
      deployment: deployment ?? null,
    };
    begin({ title: model, data, step: step ?? "configure" });
  }, [begin, deployment, draft, endpoint, model, step, version]);

  /** An upload that this browser sends no byte of. */
  const beginImport = (upload: Upload) => {
    begun.current = upload.id;
    const data: DraftData = {
      ...EMPTY_DRAFT,
      origin: { kind: "upload", upload: upload.id },
      endpoint: endpoint ?? null,
      deployment: deployment ?? null,
    };
    begin({ title: upload.filename, data, step: "inspect" });
  };

  return { pending: create.isPending, error: create.error, beginImport };
}
