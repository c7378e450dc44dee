/** What is promised and hardly used, with what to do about it. */
import { plural, t } from "@lingui/core/macro";
import { IconLeaf } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { wasteQuery } from "@/api/capacity";
import type { WasteItem } from "@/api/types";
import { paths } from "@/app/paths";
import { Card } from "@/components/card";
import { EmptyState } from "@/components/empty-state";
import { LoadProblem } from "@/components/forbidden";
import { LinkButton } from "@/components/link-button";
import { ShowMore } from "@/components/show-more";
import { SkeletonRows } from "@/components/skeleton";
import classes from "./capacity.module.css";

/** At first, and more at a time: of a large fleet there may be thousands. */
const PAGE = 20;

function Open({ item }: { item: WasteItem }) {
  const [endpoint = ""] = item.subject.split("/");
  const link = item.kind === "node" ? paths.node(item.subject) : paths.endpointTab(endpoint, "deployments");
  return (
    <LinkButton {...link} variant="default" size="xs">
      {item.kind === "node" ? t`Open ${item.subject}` : t`Open ${endpoint}`}
    </LinkButton>
  );
}

export function WasteCard() {
  const { data, error, isPending, refetch } = useQuery(wasteQuery());
  const [shown, setShown] = useState(PAGE);
  if (error && !data) return <LoadProblem error={error} what={t`What is wasted`} needs="read" onRetry={() => void refetch()} />;
  const hint =
    data && data.looked_at > 0
      ? t`by the last day; whether it could be emptied was asked of ${plural(data.looked_at, { one: "# node", other: "# nodes" })}, those with the fewest replicas`
      : t`by the last day`;
  return (
    <Card title={t`Waste`} hint={hint} flush>
      {isPending ? (
        <SkeletonRows rows={3} label={t`Loading what is wasted`} />
      ) : data && data.items.length > 0 ? (
        <>
          <ul className={classes["waste"]} aria-label={t`Waste`}>
            {data.items.slice(0, shown).map((item) => (
              <li key={`${item.code} ${item.subject} ${item.text}`}>
                <h3>{item.title}</h3>
                <p>{item.text}</p>
                <p>{item.change}</p>
                <div>
                  <Open item={item} />
                </div>
              </li>
            ))}
          </ul>
          <ShowMore
            hasNextPage={data.items.length > shown}
            isFetchingNextPage={false}
            fetchNextPage={() => Promise.resolve(setShown(shown + PAGE))}
            inset
          />
        </>
      ) : (
        <EmptyState icon={<IconLeaf size={30} stroke={1.4} />} title={t`Nothing is wasted, by what was measured`} />
      )}
    </Card>
  );
}
