/** What is dropped or chosen, wherever in the studio, becomes the upload of this page; or a sentence why not. */
import { t } from "@lingui/core/macro";
import { useEffect, useMemo, useRef } from "react";
import { onDropped, takeDropped, type Dropped } from "@/app/dropped-files";
import type { Upload } from "@/api/types";
import { bytes } from "@/components/format";
import { selectionOf, type Selection } from "./accepted-files";
import type { UploadControl } from "./use-upload";

interface Drops {
  control: UploadControl;
  /** An upload of an earlier visit that lacks bytes: only the same files continue it. */
  unfinished: Upload | null;
  onRefused: (reason: string | null) => void;
  onOther: () => void;
}

/** A packed archive has a few bytes of headers per file more than its content. */
function fits(selection: Selection, unfinished: Upload): boolean {
  if (selection.kind === "file") return selection.file.name === unfinished.filename && selection.file.size === unfinished.size;
  return selection.kind === "pack" && selection.name === unfinished.filename && selection.size < unfinished.size;
}

const BUSY = new Set(["packing", "starting", "sending", "waiting", "finishing"]);

interface Taking {
  /** A model of its own; or weights of the one that was taken before. */
  take: (files: Dropped[]) => void;
  /** Files of the one that was taken before, whatever they are called. */
  add: (files: Dropped[]) => void;
}

export function useDrops({ control, unfinished, onRefused, onOther }: Drops): Taking {
  const earlier = useRef<Dropped[]>([]);
  const take = (files: Dropped[], added: boolean) => {
    if (BUSY.has(control.view.phase)) return onRefused(t`An upload is under way. Wait for it, or cancel it first.`);
    // A model that lacks its external data is completed by what is dropped after it.
    const complete = added ? [...earlier.current, ...files] : files;
    const selection = selectionOf(complete);
    if (selection.kind === "refused") return onRefused(selection.reason);
    if (unfinished && !fits(selection, unfinished))
      return onRefused(t`To continue, choose ${unfinished.filename} (${bytes(unfinished.size)}) again, with all that belongs to it.`);
    earlier.current = complete;
    onRefused(null);
    if (unfinished) {
      const { id, offset, chunk_size } = unfinished;
      return control.start(selection, { id, offset, chunkSize: chunk_size });
    }
    onOther();
    control.start(selection);
  };
  const latest = useRef(take);
  useEffect(() => {
    latest.current = take;
  });
  useEffect(() => {
    const look = () => {
      const files = takeDropped();
      if (files) latest.current(files, isAddition(files));
    };
    look();
    return onDropped(look);
  }, []);
  return useMemo(() => ({ take: (files) => latest.current(files, isAddition(files)), add: (files) => latest.current(files, true) }), []);
}

/** Weights beside a graph that names them, never a model of their own. */
function isAddition(files: readonly Dropped[]): boolean {
  return files.length > 0 && files.every(({ path }) => /(\.data|\.bin|\.weights?|_data)$/i.test(path) || !/\.[a-z0-9]+$/i.test(path));
}
