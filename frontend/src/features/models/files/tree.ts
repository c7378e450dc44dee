/** The files of a version as a tree, and where the keys lead in it. Pure. */
import type { ManifestFile } from "@/api/types";

export interface TreeRow {
  /** The folder's path, or the file's. */
  path: string;
  name: string;
  depth: number;
  file: ManifestFile | null;
  open: boolean;
  /** Of all files below. */
  size: number;
}

interface Folder {
  folders: Map<string, Folder>;
  files: ManifestFile[];
  size: number;
}

const newFolder = (): Folder => ({ folders: new Map(), files: [], size: 0 });

function grouped(files: readonly ManifestFile[]): Folder {
  const root = newFolder();
  for (const file of files) {
    let folder = root;
    root.size += file.size;
    for (const part of file.path.split("/").slice(0, -1)) {
      const next = folder.folders.get(part) ?? newFolder();
      folder.folders.set(part, next);
      next.size += file.size;
      folder = next;
    }
    folder.files.push(file);
  }
  return root;
}

const byName = (a: string, b: string) => a.localeCompare(b, undefined, { numeric: true });

/** Rows in view: folders first, then files, closed folders without what is in them. */
export function treeRows(files: readonly ManifestFile[], closed: ReadonlySet<string>): TreeRow[] {
  const rows: TreeRow[] = [];
  const walk = (folder: Folder, prefix: string, depth: number) => {
    for (const name of [...folder.folders.keys()].sort(byName)) {
      const inner = folder.folders.get(name);
      if (!inner) continue;
      const path = `${prefix}${name}`;
      const open = !closed.has(path);
      rows.push({ path, name, depth, file: null, open, size: inner.size });
      if (open) walk(inner, `${path}/`, depth + 1);
    }
    for (const file of [...folder.files].sort((a, b) => byName(a.path, b.path)))
      rows.push({ path: file.path, name: file.path.slice(prefix.length), depth, file, open: false, size: file.size });
  };
  walk(grouped(files), "", 0);
  return rows;
}

export type TreeMove = { kind: "focus"; path: string } | { kind: "toggle"; path: string } | { kind: "open"; path: string };

/** As WAI-ARIA's tree pattern has it; null for other keys. */
export function treeMove(rows: readonly TreeRow[], path: string, key: string): TreeMove | null {
  const at = rows.findIndex((row) => row.path === path);
  const row = rows[at];
  if (!row) return rows[0] ? { kind: "focus", path: rows[0].path } : null;
  const focus = (target: TreeRow | undefined): TreeMove | null => (target ? { kind: "focus", path: target.path } : null);
  switch (key) {
    case "ArrowDown":
      return focus(rows[at + 1]);
    case "ArrowUp":
      return focus(rows[at - 1]);
    case "Home":
      return focus(rows[0]);
    case "End":
      return focus(rows.at(-1));
    case "ArrowRight":
      if (row.file) return null;
      return row.open ? focus(rows[at + 1]) : { kind: "toggle", path };
    case "ArrowLeft":
      if (!row.file && row.open) return { kind: "toggle", path };
      return focus(rows.findLast((other, index) => index < at && other.depth < row.depth));
    case "Enter":
    case " ":
      return row.file ? { kind: "open", path } : { kind: "toggle", path };
    default:
      return null;
  }
}
