/** An upload and a lineage that nobody made, for tests to say otherwise of what they are about. */
import type { Lineage, Upload } from "@/api/types";

export const LINEAGE: Lineage = {
  kind: "stated",
  address: "",
  run: "",
  run_url: "",
  commit: "",
  dataset: "",
  revision: "",
  etag: "",
  repository: "",
  experiment: "",
  by: "ada",
  at: "2026-01-01T10:00:00Z",
  stated: [],
  stated_by: "",
  stated_at: null,
};

export const UPLOAD: Upload = {
  id: "u1",
  project: "default",
  filename: "model.onnx",
  size: 1_000,
  offset: 1_000,
  chunk_size: 1_000,
  sha256: "",
  state: "ready",
  steps: [],
  inspection: null,
  code: { state: "none", reasons: [], approved_by: null, approved_at: null },
  manifest: [],
  error: null,
  lineage: null,
  created_at: "2026-01-01T10:00:00Z",
  expires_at: "2026-01-02T10:00:00Z",
};
