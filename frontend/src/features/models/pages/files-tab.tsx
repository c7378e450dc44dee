/** The files of a version: a tree, and what is in the one that is chosen. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconChevronDown, IconChevronRight, IconFile, IconFolder } from "@tabler/icons-react";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useRef, useState } from "react";
import { downloadPath } from "@/api/models";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { bytes, count } from "@/components/format";
import { FilePreview } from "../components/file-preview";
import { treeMove, treeRows } from "../files/tree";
import { useVersion } from "../hooks";
import classes from "../models.module.css";

const ROWS = 500;

export function FilesTab() {
  const { name, version } = useVersion();
  const search: { path?: string } = useSearch({ strict: false });
  const navigate = useNavigate();
  const box = useRef<HTMLUListElement>(null);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const all = useMemo(() => treeRows(version.manifest, closed), [version.manifest, closed]);
  const [limit, setLimit] = useState(ROWS);
  // A link to a file far down shows it.
  const rows = all.slice(0, Math.max(limit, all.findIndex((row) => row.path === search.path) + 1));
  const [focused, setFocused] = useState(search.path ?? rows[0]?.path ?? "");
  const chosen = version.manifest.find((file) => file.path === search.path) ?? null;
  const open = (path: string) => void navigate({ to: ".", search: { path }, replace: search.path !== undefined });
  const toggle = (path: string) => setClosed((old) => new Set(old.has(path) ? [...old].filter((other) => other !== path) : [...old, path]));
  const focus = (path: string) => {
    setFocused(path);
    box.current?.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`)?.focus();
  };
  const reachable = rows.some((row) => row.path === focused) ? focused : rows[0]?.path;
  return (
    <div className={classes["files"]}>
      <Card
        title={t`Files`}
        hint={`${count(version.manifest.length)}, ${bytes(version.size)}`}
        actions={
          <a className="link" href={downloadPath(name, version.version)} download>
            <Trans>Download all</Trans>
          </a>
        }
        flush
      >
        <ul ref={box} className={classes["tree"]} role="tree" aria-label={t`Files of the version`}>
          {rows.map((row) => (
            <li
              key={row.path}
              role="treeitem"
              aria-level={row.depth + 1}
              aria-selected={row.path === chosen?.path}
              {...(row.file ? {} : { "aria-expanded": row.open })}
              data-path={row.path}
              tabIndex={row.path === reachable ? 0 : -1}
              style={{ paddingLeft: 10 + row.depth * 18 }}
              onFocus={() => setFocused(row.path)}
              onClick={() => (row.file ? open(row.path) : toggle(row.path))}
              onKeyDown={(event) => {
                const move = treeMove(rows, row.path, event.key);
                if (!move) return;
                event.preventDefault();
                if (move.kind === "focus") focus(move.path);
                else if (move.kind === "toggle") toggle(move.path);
                else open(move.path);
              }}
            >
              {row.file ? (
                <IconFile size={15} aria-hidden />
              ) : (
                <>
                  {row.open ? <IconChevronDown size={14} aria-hidden /> : <IconChevronRight size={14} aria-hidden />}
                  <IconFolder size={15} aria-hidden />
                </>
              )}
              <span className="mono truncate">{row.name}</span>
              <span className="secondary">{bytes(row.size)}</span>
            </li>
          ))}
        </ul>
        {rows.length < all.length ? (
          <div className={classes["pager"]}>
            <span className="secondary">
              <Trans>
                {count(rows.length)} of {count(all.length)} rows
              </Trans>
            </span>
            <Button variant="default" onClick={() => setLimit(rows.length + ROWS)}>
              <Trans>Show more</Trans>
            </Button>
          </div>
        ) : null}
      </Card>
      {chosen ? (
        <FilePreview key={chosen.path} version={version} file={chosen} />
      ) : (
        <Card>
          <EmptyState
            title={search.path === undefined ? t`Choose a file to look into it` : t`There is no file ${search.path}`}
            detail={t`Texts, JSON, labels and pictures are shown, the graph of ONNX files and the header of .npy files; of others the first bytes.`}
          />
        </Card>
      )}
    </div>
  );
}
