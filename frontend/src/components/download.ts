/** Gives something that the page holds to the person as a file. */
export function downloadFile(name: string, type: string, content: string | Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  // Tensors may be called a/b:0.
  link.download = name.replaceAll(/[\\/:*?"<>|]/g, "_");
  link.click();
  URL.revokeObjectURL(url);
}
