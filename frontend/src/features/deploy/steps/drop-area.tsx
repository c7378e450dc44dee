/** The large field to drop files on. Dropping elsewhere in the studio does the same; this one can be clicked, too. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconFileUpload } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { chosenFiles, type Dropped } from "@/app/dropped-files";
import type { Upload } from "@/api/types";
import { bytes } from "@/components/format";
import shared from "../deploy.module.css";
import classes from "./drop-area.module.css";

export interface DropAreaProps {
  unfinished: Upload | null;
  onFiles: (files: Dropped[]) => void;
  onForget: () => void;
}

export function DropArea({ unfinished, onFiles, onForget }: DropAreaProps) {
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const take = ({ currentTarget }: React.ChangeEvent<HTMLInputElement>) => {
    onFiles(chosenFiles(currentTarget.files));
    // Choosing the same file once more must be heard.
    currentTarget.value = "";
  };
  return (
    <>
      {/* why no handler for the drop: the shell takes what is dropped anywhere, and hands it to this page. */}
      <div
        className={classes["drop"]}
        data-accept={over ? "" : undefined}
        onDragEnter={() => setOver(true)}
        onDragLeave={({ currentTarget, relatedTarget }) => {
          if (!currentTarget.contains(relatedTarget as Node | null)) setOver(false);
        }}
        onDrop={() => setOver(false)}
      >
        <div className={classes["dropInner"]}>
          <span className={classes["dropIcon"]}>
            <IconFileUpload size={24} stroke={1.6} aria-hidden />
          </span>
          <span className={classes["dropTitle"]}>
            {unfinished ? t`Drop ${unfinished.filename} again to continue` : t`Drop a model here`}
          </span>
          <span className={classes["dropHint"]}>
            {unfinished
              ? t`${bytes(unfinished.offset)} of ${bytes(unfinished.size)} are on the server. The rest follows from there.`
              : t`A file, several that belong together, a folder or an archive. Lost connections are picked up where they broke.`}
          </span>
          <span className={classes["dropButtons"]}>
            <Button variant="default" onClick={() => files.current?.click()}>
              <Trans>Choose files</Trans>
            </Button>
            <Button variant="default" onClick={() => folder.current?.click()}>
              <Trans>Choose a folder</Trans>
            </Button>
          </span>
          <input ref={files} type="file" multiple hidden aria-label={t`Model file`} onChange={take} />
          <input ref={folder} type="file" hidden aria-label={t`Model folder`} onChange={take} {...{ webkitdirectory: "" }} />
        </div>
      </div>
      {unfinished ? (
        <p className={shared["hint"]}>
          <button type="button" className={classes["linkButton"]} onClick={onForget}>
            <Trans>Start over with another file</Trans>
          </button>
        </p>
      ) : null}
    </>
  );
}
