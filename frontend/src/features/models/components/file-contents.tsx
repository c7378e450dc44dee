/** What is in a file, in the way that fits it. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { keys } from "@/api/keys";
import { filePath } from "@/api/models";
import type { ManifestFile, ModelVersion } from "@/api/types";
import { paths } from "@/app/paths";
import { CodeBlock } from "@/components/copy";
import { type Column, DataTable } from "@/components/data-table";
import { bytes, count } from "@/components/format";
import { npyHeader, type NpyHeader } from "../files/npy-header";
import { onnxHead, opsetsOf, type OnnxHead } from "../files/onnx-head";
import { HEAD_BYTES, hexLines, labelsOf, prettyJson, textOf, type PreviewKind } from "../files/preview";
import { readRange } from "../files/read-range";
import { Facts } from "./facts";
import classes from "../models.module.css";

export interface FileContentsProps {
  file: ManifestFile;
  kind: PreviewKind;
  /** The head of the file, or all of it. */
  read: Uint8Array;
  version: ModelVersion;
}

export function FileContents({ file, kind, read, version }: FileContentsProps) {
  const npy = kind === "npy" ? npyHeader(read) : null;
  if (npy) return <Npy header={npy} size={file.size} />;
  const onnx = kind === "onnx" ? onnxHead(read) : null;
  if (onnx) return <Onnx head={onnx} file={file} version={version} />;
  const text = kind === "onnx" || kind === "npy" ? null : textOf(read);
  if (text === null) return <Bytes file={file} read={read} />;
  if (kind === "labels") return <Labels path={file.path} text={text} />;
  return <Text file={file} text={text} cut={read.length < file.size} json={kind === "json"} />;
}

interface LabelRow {
  index: number;
  label: string;
}

const LABEL_COLUMNS: Column<LabelRow>[] = [
  { id: "index", header: t`Class`, width: 80, align: "right", cell: (row) => row.index },
  {
    id: "label",
    header: t`Label`,
    cell: (row) =>
      row.label || (
        <span className="muted">
          <Trans>empty line</Trans>
        </span>
      ),
  },
];
const LABELS_SHOWN = 2000;

function Labels({ path, text }: { path: string; text: string }) {
  const rows = labelsOf(text).map((label, index) => ({ index, label }));
  return (
    <>
      <p className="secondary">
        {rows.length === 1 ? t`1 class` : t`${plural(rows.length, { one: "# class", other: "# classes" })}, a line each`}
      </p>
      <div className={classes["scroll"]} tabIndex={0} role="region" aria-label={t`Labels`}>
        <DataTable
          compact
          label={t`Labels in ${path}`}
          columns={LABEL_COLUMNS}
          rows={rows.slice(0, LABELS_SHOWN)}
          rowKey={(row) => String(row.index)}
        />
      </div>
      {rows.length > LABELS_SHOWN ? (
        <p className="secondary">
          <Trans>The first {count(LABELS_SHOWN)}; the download has all.</Trans>
        </p>
      ) : null}
    </>
  );
}

function Text({ file, text, cut, json }: { file: ManifestFile; text: string; cut: boolean; json: boolean }) {
  const pretty = json && !cut ? prettyJson(text) : { text, problem: null };
  return (
    <>
      {cut ? (
        <p className="secondary">
          <Trans>The first {bytes(new TextEncoder().encode(text).length)}.</Trans>
        </p>
      ) : null}
      {pretty.problem ? <p role="alert">{pretty.problem}</p> : null}
      <div className={classes["text"]}>
        <CodeBlock code={pretty.text} label={t`Contents of ${file.path}`} />
      </div>
    </>
  );
}

function Npy({ header, size }: { header: NpyHeader; size: number }) {
  const { descr, shape, fortran, dataBytes, start } = header;
  const short = dataBytes !== null && start + dataBytes > size;
  return (
    <>
      <Facts
        facts={[
          [
            t`NumPy array of`,
            <span key="t" className="mono">
              {descr}
            </span>,
          ],
          [t`Shape`, shape.length > 0 ? shape.join(" × ") : t`one value`],
          [t`Values`, count(shape.reduce((product, axis) => product * axis, 1))],
          [t`Order`, fortran ? t`columns first (Fortran)` : t`rows first (C)`],
          [t`Bytes of values`, dataBytes === null ? t`not told by the header` : bytes(dataBytes)],
        ]}
      />
      {short ? (
        <p role="alert">
          <Trans>
            The file is cut short: its header asks for {bytes(start + dataBytes)}, it has {bytes(size)}.
          </Trans>
        </p>
      ) : null}
    </>
  );
}

const OPERATOR_COLUMNS: Column<OnnxHead["operators"][number]>[] = [
  { id: "name", header: t`Operator`, cell: (row) => <span className="mono">{row.name}</span> },
  { id: "count", header: t`Nodes`, width: 90, align: "right", cell: (row) => count(row.count) },
];

/** Behind the graph stand a few lines only. */
const TAIL_BYTES = 64 * 1024;

function Onnx({ head, file, version }: { head: OnnxHead; file: ManifestFile; version: ModelVersion }) {
  const { path, size, sha256 } = file;
  const end = Math.min(size, head.graphEnd + TAIL_BYTES);
  const tail = useQuery({
    queryKey: [...keys.models.version(version.model, version.version), "tail", sha256],
    queryFn: ({ signal }) => readRange(filePath(version.model, version.version, path), path, [head.graphEnd, end], signal),
    enabled: head.graphEnd < size,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const model = version.repo_models.find(({ name }) => path.startsWith(`${name}/`));
  return (
    <>
      <Facts
        facts={[
          [t`Graph`, head.graph || "–"],
          [t`Nodes`, head.complete ? count(head.nodes) : t`${count(head.nodes)} in the part that was read`],
          [t`Operators`, count(head.operators.length)],
          [t`Opset`, (tail.data && opsetsOf(tail.data)) || "–"],
          [t`IR version`, head.irVersion ?? "–"],
          [t`Written by`, head.producer || "–"],
        ]}
      />
      {model ? (
        <p>
          <Trans>
            Inputs and outputs are on the{" "}
            <Link {...paths.modelTab(version.model, version.version, "overview")} className="link">
              overview
            </Link>
            .
          </Trans>
        </p>
      ) : null}
      <div className={classes["scroll"]} tabIndex={0} role="region" aria-label={t`Operators of the graph`}>
        <DataTable compact label={t`Operators in ${path}`} columns={OPERATOR_COLUMNS} rows={head.operators} rowKey={(row) => row.name} />
      </div>
    </>
  );
}

function Bytes({ file, read }: { file: ManifestFile; read: Uint8Array }) {
  const lines = hexLines(read.subarray(0, HEAD_BYTES));
  return (
    <>
      <p className="secondary">
        <Trans>Not a text: the first {bytes(Math.min(read.length, HEAD_BYTES))}.</Trans>
      </p>
      <pre className={classes["hex"]} tabIndex={0} role="region" aria-label={t`First bytes of ${file.path}`}>
        {lines.map((line) => `${line.offset}  ${line.hex.padEnd(48)} ${line.text}`).join("\n")}
      </pre>
    </>
  );
}
