/** Files dropped anywhere in the studio, on their way to the wizard: the shell offers them, the wizard takes them. */

export interface Dropped {
  /** With slashes when it lay in a folder. */
  path: string;
  file: File;
}

const listeners = new Set<() => void>();
let waiting: Dropped[] | null = null;

export function offerDropped(files: Dropped[]): void {
  waiting = files;
  for (const listener of listeners) listener();
}

/** What waits, once. */
export function takeDropped(): Dropped[] | null {
  const files = waiting;
  waiting = null;
  return files;
}

export function onDropped(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const fileOf = (entry: FileSystemFileEntry) =>
  new Promise<File>((resolve, reject) => {
    entry.file(resolve, reject);
  });

/** A folder's reader gives a hundred entries at a time, and none at the end. */
async function childrenOf(entry: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = entry.createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => {
      reader.readEntries(resolve, reject);
    });
    if (some.length === 0) return found;
    found.push(...some);
  }
}

async function filesBelow(entry: FileSystemEntry, folder: string): Promise<Dropped[]> {
  const path = `${folder}${entry.name}`;
  if (entry.isFile) return [{ path, file: await fileOf(entry as FileSystemFileEntry) }];
  const children = await childrenOf(entry as FileSystemDirectoryEntry);
  return (await Promise.all(children.map((child) => filesBelow(child, `${path}/`)))).flat();
}

/** All files of a drop, folders opened. Must be called while the event is handled: afterwards the browser forgets. */
export function readDropped(transfer: DataTransfer): Promise<Dropped[]> {
  const plain = [...transfer.files].map((file) => ({ path: file.name, file }));
  const entries = [...transfer.items].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
  if (entries.length === 0) return Promise.resolve(plain);
  return Promise.all(entries.map((entry) => filesBelow(entry, ""))).then((found) => found.flat());
}

/** Files of an `<input type="file">`, a chosen folder's with their paths. */
export const chosenFiles = (list: FileList | null): Dropped[] =>
  [...(list ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
