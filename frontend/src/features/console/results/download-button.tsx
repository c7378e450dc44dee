/** Saves something that the page holds as a file. */
import { Button } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";

export interface DownloadButtonProps {
  /** The kind of file, as the button says it. */
  label: string;
  name: string;
  type: string;
  content: () => string | Uint8Array<ArrayBuffer> | null;
}

export function saveFile(name: string, type: string, content: string | Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  // Tensors may be called a/b:0.
  link.download = name.replaceAll(/[\\/:*?"<>|]/g, "_");
  link.click();
  URL.revokeObjectURL(url);
}

export function DownloadButton({ label, name, type, content }: DownloadButtonProps) {
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      color="gray"
      leftSection={<IconDownload size={13} aria-hidden />}
      aria-label={`Download ${name}`}
      onClick={() => {
        const made = content();
        if (made !== null) saveFile(name, type, made);
      }}
    >
      {label}
    </Button>
  );
}
