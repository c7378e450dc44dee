/** What lies in the node's cache: which files of which versions, and what may go when room is needed. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { cacheQuery } from "@/api/nodes";
import type { CachedBlob, NodeInfo } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { CopyButton } from "@/components/copy";
import { type Column, DataTable } from "@/components/data-table";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { bytes, absoluteTime } from "@/components/format";
import { ListFilter } from "@/components/list-filter";
import { Meter } from "@/components/meter";
import { ShowMore } from "@/components/show-more";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import toolbar from "@/components/toolbar.module.css";
import { useNode } from "../hooks/use-node";
import { share } from "../share";
import classes from "./node-page.module.css";

/** One file, and how many more have the same bytes. */
function Files({ blob }: { blob: CachedBlob }) {
  const [first, ...more] = blob.files;
  if (!first)
    return (
      <span className="muted">
        <Trans>nothing that was deployed</Trans>
      </span>
    );
  return (
    <>
      <Link {...paths.modelVersion(first.model, first.version)} className="link">
        {first.model} v{first.version}
      </Link>
      <div className="secondary mono truncate" title={blob.files.map((file) => `${file.model} v${file.version}: ${file.path}`).join("\n")}>
        {first.path}
        {more.length > 0 ? t`, and ${more.length} more` : ""}
      </div>
    </>
  );
}

const COLUMNS: Column<CachedBlob>[] = [
  { id: "files", header: t`Belongs to`, cell: (row) => <Files blob={row} /> },
  { id: "size", header: t`Size`, align: "right", width: 90, cell: (row) => bytes(row.size) },
  {
    id: "use",
    header: t`Use`,
    width: 110,
    cell: (row) =>
      row.in_use ? (
        <Status plain state={t`in use`} tone="ok" title={t`A replica runs it: it stays`} />
      ) : (
        <Status plain state={t`may go`} tone="idle" title={t`No replica runs it: it goes when room is needed, longest unused first`} />
      ),
  },
  { id: "used", header: t`Last wanted`, align: "right", width: 160, hideBelow: "sm", cell: (row) => <Time at={row.used_at} /> },
  {
    id: "sha",
    header: t`Checksum`,
    hideBelow: "md",
    width: 170,
    cell: (row) => (
      <span className={`mono ${classes["copied"] ?? ""}`}>
        {row.sha256.slice(0, 12)}
        <CopyButton text={row.sha256} label={t`checksum ${row.sha256.slice(0, 12)}`} />
      </span>
    ),
  },
];

/** What the agent's settings say of it, and when all of it was last hashed again. */
function hint({
  cache_quota_bytes: quota,
  download_limit_bytes_per_s: limit,
  cache_checked_at: checked,
  cache_spoiled: spoiled,
}: NodeInfo) {
  const hashed = absoluteTime(new Date(checked * 1000).toISOString());
  return [
    quota > 0 ? t`quota ${bytes(quota)}` : t`no quota: only the disk limits it`,
    ...(limit > 0 ? [t`downloads at most ${bytes(limit)}/s`] : []),
    ...(checked > 0
      ? [spoiled === 0 ? t`hashed again ${hashed}, nothing had changed` : t`hashed again ${hashed}, ${spoiled} had changed`]
      : []),
  ].join("; ");
}

function Room({ info }: { info: NodeInfo }) {
  const { cache_bytes: held, cache_idle_bytes: idle, cache_quota_bytes: quota, disk_free_bytes: free } = info;
  const limit = quota > 0 ? quota : held + free;
  return (
    <Card title={t`Room`} hint={hint(info)}>
      <div className={classes["meters"]}>
        <Meter label={t`Cached`} share={share(held, limit)} text={t`${bytes(held)} of ${bytes(limit)}`} />
        {idle === null ? null : (
          <Meter label={t`Of that in use, and staying`} share={share(held - idle, limit)} text={bytes(held - idle)} />
        )}
      </div>
    </Card>
  );
}

export function NodeCacheTab() {
  const node = useNode();
  const search = useSearch({ from: "/app/nodes/$name/cache" });
  const navigate = useNavigate({ from: "/nodes/$name/cache" });
  const q = search.q ?? "";
  const { data, error, isPending, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery(cacheQuery(node.name, q));
  const rows = data?.pages.flatMap((page) => page.items);
  if (error && !data) return <LoadProblem error={error} what={t`The cache`} needs="read" onRetry={() => void refetch()} />;
  return (
    <div className={classes["stack"]}>
      <Room info={node.info} />
      <div className={classes["narrow"]}>
        <div className={toolbar["toolbar"]}>
          <ListFilter
            label={t`Checksum begins with`}
            value={q}
            onChange={(value) => void navigate({ search: (old) => ({ ...old, q: value || undefined }), replace: true })}
          />
        </div>
        <Card flush>
          <DataTable
            label={t`Cached files`}
            columns={COLUMNS}
            rows={rows}
            rowKey={(row) => row.sha256}
            loading={isPending}
            empty={
              <EmptyState
                title={q ? t`Nothing begins with that` : t`Nothing is cached`}
                detail={q ? undefined : t`Files come when a replica needs them, and stay for the next one until room is needed.`}
              />
            }
          />
        </Card>
        <ShowMore hasNextPage={hasNextPage} isFetchingNextPage={isFetchingNextPage} fetchNextPage={fetchNextPage} />
      </div>
    </div>
  );
}
