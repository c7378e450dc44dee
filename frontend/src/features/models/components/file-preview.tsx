/** What is in a file: text, labels, a picture, or its first bytes. */
import { useQuery } from "@tanstack/react-query";
import { keys } from "@/api/keys";
import { filePath } from "@/api/models";
import type { ManifestFile } from "@/api/types";
import { Card } from "@/components/card";
import { CodeBlock, CopyButton } from "@/components/copy";
import { type Column, DataTable } from "@/components/data-table";
import { bytes, count } from "@/components/format";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { HEAD_BYTES, hexLines, labelsOf, TEXT_BYTES, textOf, wantedKind } from "../files/preview";
import classes from "../models.module.css";

export interface FilePreviewProps {
  name: string;
  version: number;
  file: ManifestFile;
}

async function readHead(url: string, length: number, signal: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(url, {
    credentials: "same-origin",
    headers: { Range: `bytes=0-${length - 1}` },
    signal,
  });
  if (!response.ok) throw new Error(`The file could not be read: status ${response.status}.`);
  return new Uint8Array(await response.arrayBuffer());
}

export function FilePreview({ name, version, file }: FilePreviewProps) {
  const url = filePath(name, version, file.path);
  const kind = wantedKind(file.path);
  const wanted = Math.min(file.size, kind === "hex" ? HEAD_BYTES : TEXT_BYTES);
  const head = useQuery({
    queryKey: [...keys.models.version(name, version), "file", file.sha256, wanted],
    queryFn: ({ signal }) => readHead(url, wanted, signal),
    enabled: kind !== "image" && file.size > 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Card
      title={<span className="mono">{file.path}</span>}
      hint={bytes(file.size)}
      actions={
        <a className="link" href={url} download>
          Download
        </a>
      }
    >
      <p className={classes["hash"]}>
        <span className="secondary">SHA-256</span>
        <span className="mono truncate" title={file.sha256}>
          {file.sha256.slice(0, 24)}…
        </span>
        <CopyButton text={file.sha256} label={`SHA-256 of ${file.path}`} />
      </p>
      {file.size === 0 ? <p className="muted">The file is empty.</p> : null}
      {kind === "image" ? <img className={classes["picture"]} src={url} alt={file.path} /> : null}
      {head.error ? (
        <ProblemCard error={head.error} title="The file could not be read" onRetry={() => void head.refetch()} />
      ) : null}
      {head.isLoading ? <SkeletonRows rows={5} label="Reading the file" /> : null}
      {head.data ? <Contents file={file} bytes={head.data} labels={kind === "labels"} /> : null}
    </Card>
  );
}

interface LabelRow {
  index: number;
  label: string;
}

const LABEL_COLUMNS: Column<LabelRow>[] = [
  { id: "index", header: "Class", width: 80, align: "right", cell: (row) => row.index },
  { id: "label", header: "Label", cell: (row) => row.label || <span className="muted">empty line</span> },
];
const LABELS_SHOWN = 2000;

function Contents({ file, bytes: read, labels }: { file: ManifestFile; bytes: Uint8Array; labels: boolean }) {
  const text = textOf(read);
  const cut = read.length < file.size;
  if (text !== null && labels) {
    const rows = labelsOf(text).map((label, index) => ({ index, label }));
    return (
      <>
        <p className="secondary">{count(rows.length)} classes, a line each</p>
        <div className={classes["scroll"]} tabIndex={0} role="region" aria-label="Labels">
          <DataTable
            compact
            label={`Labels in ${file.path}`}
            columns={LABEL_COLUMNS}
            rows={rows.slice(0, LABELS_SHOWN)}
            rowKey={(row) => String(row.index)}
          />
        </div>
      </>
    );
  }
  if (text !== null) {
    return (
      <>
        {cut ? <p className="secondary">The first {bytes(read.length)}.</p> : null}
        <div className={classes["text"]}>
          <CodeBlock code={text} label={`Contents of ${file.path}`} />
        </div>
      </>
    );
  }
  const lines = hexLines(read.subarray(0, HEAD_BYTES));
  return (
    <>
      <p className="secondary">Not a text: the first {bytes(Math.min(read.length, HEAD_BYTES))}.</p>
      <pre className={classes["hex"]} tabIndex={0} role="region" aria-label={`First bytes of ${file.path}`}>
        {lines.map((line) => `${line.offset}  ${line.hex.padEnd(48)} ${line.text}`).join("\n")}
      </pre>
    </>
  );
}
