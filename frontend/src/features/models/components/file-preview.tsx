/** One file of a version: what it is, its checksum, and what is in it. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { filePath } from "@/api/models";
import type { ManifestFile, ModelVersion } from "@/api/types";
import { Card } from "@/components/card";
import { CopyButton } from "@/components/copy";
import { bytes } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { headBytes, wantedKind } from "../files/preview";
import { readRange } from "../files/read-range";
import classes from "../models.module.css";
import { FileContents } from "./file-contents";

export interface FilePreviewProps {
  version: ModelVersion;
  file: ManifestFile;
}

export function FilePreview({ version, file }: FilePreviewProps) {
  const url = filePath(version.model, version.version, file.path);
  const kind = wantedKind(file.path);
  const wanted = headBytes(kind, file.size);
  const head = useQuery({
    queryKey: [...keys.models.version(version.model, version.version), "file", file.sha256, wanted],
    queryFn: ({ signal }) => readRange(url, file.path, [0, wanted], signal),
    enabled: kind !== "image" && file.size > 0,
    staleTime: Number.POSITIVE_INFINITY,
    // A file that is gone stays gone.
    retry: false,
  });
  return (
    <Card
      title={<span className="mono">{file.path}</span>}
      hint={bytes(file.size)}
      actions={
        <a className="link" href={url} download>
          <Trans>Download</Trans>
        </a>
      }
    >
      <p className={classes["hash"]}>
        <span className="secondary">
          <Trans>SHA-256</Trans>
        </span>
        <span className="mono truncate" title={file.sha256}>
          {file.sha256.slice(0, 24)}…
        </span>
        <CopyButton text={file.sha256} label={t`SHA-256 of ${file.path}`} />
      </p>
      {file.size === 0 ? (
        <p className="muted">
          <Trans>The file is empty.</Trans>
        </p>
      ) : null}
      {kind === "image" && file.size > 0 ? <Picture url={url} path={file.path} /> : null}
      {head.error ? <ProblemCard error={head.error} title={t`The file could not be read`} onRetry={() => void head.refetch()} /> : null}
      {head.isLoading ? <SkeletonRows rows={5} label={t`Reading the file`} /> : null}
      {head.data ? <FileContents file={file} kind={kind} read={head.data} version={version} /> : null}
    </Card>
  );
}

function Picture({ url, path }: { url: string; path: string }) {
  const [failed, setFailed] = useState(false);
  if (failed)
    return (
      <p role="alert">
        <Trans>The picture cannot be shown: its bytes are missing, or are none of a picture. Download it to look closer.</Trans>
      </p>
    );
  return <img className={classes["picture"]} src={url} alt={path} onError={() => setFailed(true)} />;
}
