/** Search from anywhere: every thing, every page, and what can be done with them. */
import { t, plural } from "@lingui/core/macro";
import { createSpotlight, Spotlight, type SpotlightActionData, type SpotlightFilterFunction } from "@mantine/spotlight";
import { IconListDetails, IconSearch } from "@tabler/icons-react";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { endpointsQuery } from "@/api/endpoints";
import { allModelsQuery } from "@/api/models";
import { nodesQuery } from "@/api/nodes";
import { operationsQuery } from "@/api/operations";
import { heldSomewhere } from "@/api/permissions";
import { problemText, toProblem } from "@/api/problem";
import { sessionQuery } from "@/api/session";
import { INFRASTRUCTURE, MAIN } from "@/app/layouts/nav";
import { palette } from "@/app/layouts/toggles";
import type { Act, DialogAct } from "./act";
import classes from "./command-palette.module.css";
import { bestFirst, countOf, find, firstOf, type Found } from "./find";
import { ICONS } from "./icons";
import * as items from "./items";
import { useAct } from "./use-act";

const DialogHost = lazy(() => import("./dialog-host"));
const [store, spotlight] = createSpotlight();
const SIZE = 17;
const LIMIT = 30;
/** `find` has chosen and ordered already. */
const asGiven: SpotlightFilterFunction = (_query, actions) => actions;

type Reading = Pick<UseQueryResult, "error" | "isPending">;

/** What is not among the things that are looked through: it is being read, or could not be. Who may not see a list misses nothing. */
function unreadActions(readings: Readonly<Record<string, Reading>>): SpotlightActionData[] {
  return Object.entries(readings).flatMap(([label, { error, isPending }]): SpotlightActionData[] => {
    if (error ? toProblem(error).status === 403 : !isPending) return [];
    const description = error ? t`Could not be read: ${problemText(error)}` : t`Being read`;
    return [{ id: `unread ${label}`, label, description, disabled: true, leftSection: <IconListDetails size={SIZE} /> }];
  });
}

/** What there is now, read only while the palette is open; and what is missing in it. */
function useGroups(opened: boolean, asked: boolean, here: string): { groups: items.Group[]; unread: SpotlightActionData[] } {
  const endpointsRead = useQuery({ ...endpointsQuery(), enabled: opened });
  const modelsRead = useQuery({ ...allModelsQuery(), enabled: opened });
  const nodesRead = useQuery({ ...nodesQuery(), enabled: opened, refetchInterval: false });
  const operationsRead = useQuery({ ...operationsQuery(), enabled: opened });
  const [endpoints, models] = [endpointsRead.data?.items, modelsRead.data?.items];
  const [nodes, operations] = [nodesRead.data?.items, operationsRead.data?.items];
  const groups = useMemo(() => {
    const things: items.Group[] = [
      { title: t`Endpoints`, items: items.endpointItems(endpoints ?? []) },
      { title: t`Models`, items: items.modelItems(models ?? []) },
      { title: t`Nodes`, items: items.nodeItems(nodes ?? []) },
      { title: t`Operations`, items: items.operationItems(operations ?? []) },
    ];
    const general: items.Group[] = [
      {
        title: t`Pages`,
        items: [...MAIN, ...INFRASTRUCTURE].map(({ label, link }) => ({
          id: `page ${label}`,
          label,
          icon: "settings",
          words: t`page`,
          act: { kind: "go", link },
        })),
      },
      { title: t`Settings`, items: items.settingsItems() },
    ];
    const doing = [
      ...items.generalActions(here),
      ...items.operationActions(operations ?? []),
      ...items.endpointActions(endpoints ?? []),
      ...items.nodeActions(nodes ?? []),
      ...items.modelActions(models ?? []),
    ];
    // Before anything is typed: what can be done anywhere. Things, and what can be done to them, come with their first letter.
    if (!asked) return [{ title: t`Actions`, items: items.generalActions(here) }, ...general, ...things];
    return [...things, { title: t`Actions`, items: doing }, ...general];
  }, [asked, endpoints, here, models, nodes, operations]);
  const unread = unreadActions({
    [t`Endpoints`]: endpointsRead,
    [t`Models`]: modelsRead,
    [t`Nodes`]: nodesRead,
    [t`Operations`]: operationsRead,
  });
  return { groups, unread };
}

/** A page shows the sign of the side bar, everything else its own. */
function iconOf({ id, icon }: Found): React.ReactNode {
  const page = [...MAIN, ...INFRASTRUCTURE].find(({ label }) => id === `page ${label}`);
  const Icon = page?.icon ?? ICONS[icon];
  return <Icon size={SIZE} />;
}

function asAction(item: Found, act: (chosen: Act) => void): SpotlightActionData {
  const detail = item.refusal ?? item.detail;
  return {
    id: item.id,
    label: item.label,
    leftSection: iconOf(item),
    disabled: item.refusal !== undefined,
    onClick: () => act(item.act),
    ...(detail ? { description: detail } : {}),
  };
}

export default function CommandPalette() {
  const opened = useSyncExternalStore(palette.subscribe, palette.isOpen);
  useEffect(() => (opened ? spotlight.open() : spotlight.close()), [opened]);
  const [query, setQuery] = useState("");
  const [dialog, setDialog] = useState<DialogAct | null>(null);
  const next = useRef<DialogAct | null>(null);
  const here = useRouterState({ select: (state) => state.location.href });
  const held = heldSomewhere(useQuery(sessionQuery()).data?.user);
  const asked = query.trim() !== "";
  const { groups, unread } = useGroups(opened, asked, `${window.location.origin}${here}`);
  const found = useMemo(() => find(asked ? bestFirst(groups, query) : groups, query, held), [asked, groups, held, query]);
  const [count, total] = [Math.min(LIMIT, countOf(found)), countOf(found)];
  const rest = total > count ? t`${count} of ${total}: type on to find the others` : "";
  const act = useAct((ask) => {
    next.current = ask;
  });
  const askNext = () => {
    setQuery("");
    if (next.current) setDialog(next.current);
    next.current = null;
  };
  const endDialog = useCallback(() => setDialog(null), []);
  return (
    <>
      <Spotlight
        store={store}
        onSpotlightClose={palette.close}
        attributes={{ content: { "aria-label": t`Search` } }}
        shortcut={null}
        query={query}
        onQueryChange={setQuery}
        actions={[
          ...firstOf(found, LIMIT).map(({ title, items: members }) => ({
            group: title,
            actions: members.map((item) => asAction(item, act)),
          })),
          ...(rest ? [{ group: t`Not shown`, actions: [{ id: "rest", label: rest, disabled: true }] }] : []),
          ...(unread.length > 0 ? [{ group: t`Not looked through`, actions: unread }] : []),
        ]}
        filter={asGiven}
        // why only then: both would fight for the focus, and the one that closes gives it back last.
        transitionProps={{ duration: 120, transition: "pop", onExited: askNext }}
        nothingFound={t`Nothing of that name`}
        classNames={{ action: classes["action"] ?? "", actionLabel: classes["label"] ?? "", actionsGroup: classes["group"] ?? "" }}
        // why not centred: it would jump with each letter, as the list grows and shrinks.
        centered={false}
        overlayProps={{ blur: 0 }}
        scrollable
        maxHeight={440}
        searchProps={{
          leftSection: <IconSearch size={SIZE} />,
          placeholder: t`Go to anything, or do something: restart, drain, copy`,
          "aria-label": t`Search`,
        }}
      />
      {opened ? (
        <span className="sr-only" role="status">
          {count === 0 ? t`Nothing of that name` : rest || plural(count, { one: "# result", other: "# results" })}
        </span>
      ) : null}
      <Suspense fallback={null}>{dialog ? <DialogHost ask={dialog} onClose={endDialog} /> : null}</Suspense>
    </>
  );
}
