/** Files as tensor data: .npy, JSON, CSV, raw values; for texts, a file per item. */
import { plural, t } from "@lingui/core/macro";
import { IconFileUpload } from "@tabler/icons-react";
import { useState } from "react";
import { bytes } from "@/components/format";
import { readFiles } from "@/inference/tensor/files";
import { shapeText } from "@/inference/tensor/shape";
import shared from "../console.module.css";
import classes from "./file-input.module.css";
import type { FileInput as FileData, InputDraft } from "./input-draft";

// Larger than what the console sends in one call, so that the size is refused by name and not by a stalled page.
const MAX_FILE_BYTES = 256 * 2 ** 20;

export interface FileInputProps {
  draft: InputDraft;
  onFile: (file: FileData) => void;
}

const heldText = ({ shape, elements }: FileData): string =>
  shape ? shapeText(shape) : plural(elements.length, { one: "# value", other: "# values" });

export function FileInput({ draft, onFile }: FileInputProps) {
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const take = async (files: File[]) => {
    const [first] = files;
    if (!first) return;
    const size = files.reduce((sum, file) => sum + file.size, 0);
    if (size > MAX_FILE_BYTES) return setProblem(t`${bytes(size)} are more than the console reads (${bytes(MAX_FILE_BYTES)}).`);
    const contents = await Promise.all(files.map(async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })));
    const read = readFiles(contents, draft.datatype);
    if (!read.ok) return setProblem(read.error);
    setProblem(null);
    onFile({ name: files.length === 1 ? first.name : plural(files.length, { one: "# file", other: "# files" }), ...read.data });
  };
  const { file } = draft;
  return (
    <div>
      <label
        className={classes["dropWide"]}
        data-over={over}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          event.stopPropagation();
          setOver(false);
          void take([...event.dataTransfer.files]);
        }}
      >
        <input
          type="file"
          multiple
          className="sr-only"
          aria-label={t`File for ${draft.name}`}
          onChange={(event) => void take([...(event.currentTarget.files ?? [])])}
        />
        <IconFileUpload size={20} stroke={1.6} aria-hidden />
        <span>
          {file ? <strong className="mono">{file.name}</strong> : null}
          {file ? t` (${file.note}, ${heldText(file)}). Drop another` : null}
          {file
            ? null
            : draft.datatype === "BYTES"
              ? t`Drop or choose files: each becomes one item, with its bytes as they are`
              : t`Drop or choose .npy, JSON, CSV, or raw ${draft.datatype} values (little-endian)`}
        </span>
      </label>
      {problem ? (
        <p className={shared["sentLine"]} data-tone="error" role="alert">
          {problem}
        </p>
      ) : null}
    </div>
  );
}
