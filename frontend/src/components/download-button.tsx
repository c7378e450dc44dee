/** Saves something that the page holds as a file. */
import { t } from "@lingui/core/macro";
import { Button } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { downloadFile } from "./download";

export interface DownloadButtonProps {
  /** The kind of file, as the button says it. */
  label: string;
  name: string;
  type: string;
  content: () => string | Uint8Array<ArrayBuffer> | null;
}

export function DownloadButton({ label, name, type, content }: DownloadButtonProps) {
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      color="gray"
      leftSection={<IconDownload size={13} aria-hidden />}
      aria-label={t`Download ${name}`}
      onClick={() => {
        const made = content();
        if (made !== null) downloadFile(name, type, made);
      }}
    >
      {label}
    </Button>
  );
}
