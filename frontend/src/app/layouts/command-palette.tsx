/** Search from anywhere: every thing, every page, and what can be done. */
import { Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from "@mantine/spotlight";
import {
  IconApi,
  IconCube,
  IconFileText,
  IconHistory,
  IconKeyboard,
  IconPlus,
  IconRocket,
  IconSearch,
  IconServer2,
  IconSunMoon,
  IconTerminal2,
} from "@tabler/icons-react";
import { useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, useSyncExternalStore } from "react";
import { endpointsQuery } from "@/api/endpoints";
import { modelsQuery } from "@/api/models";
import { nodesQuery } from "@/api/nodes";
import { operationsQuery } from "@/api/operations";
import { useRefusal } from "@/api/permissions";
import { paths } from "@/app/paths";
import { operationTitle } from "@/components/operation-words";
import { INFRASTRUCTURE, MAIN } from "./nav";
import { keyHelp, palette } from "./toggles";

const SIZE = 17;
const RECENT_OPERATIONS = 20;

function useThings(opened: boolean): SpotlightActionGroupData[] {
  const navigate = useNavigate();
  const models = useQuery({ ...modelsQuery({ limit: 500 }), enabled: opened });
  const endpoints = useQuery({ ...endpointsQuery(), enabled: opened });
  const nodes = useQuery({ ...nodesQuery(), enabled: opened, refetchInterval: false });
  const operations = useQuery({ ...operationsQuery(), enabled: opened });
  return [
    {
      group: "Endpoints",
      actions: (endpoints.data?.items ?? []).flatMap((item): SpotlightActionData[] => [
        {
          id: `endpoint ${item.name}`,
          label: item.name,
          description: item.serving_state,
          leftSection: <IconApi size={SIZE} />,
          onClick: () => void navigate(paths.endpoint(item.name)),
        },
        {
          id: `test ${item.name}`,
          label: `Test ${item.name}`,
          leftSection: <IconTerminal2 size={SIZE} />,
          onClick: () => void navigate(paths.test(item.name)),
        },
        {
          id: `logs ${item.name}`,
          label: `Logs of ${item.name}`,
          leftSection: <IconFileText size={SIZE} />,
          onClick: () => void navigate(paths.endpointLogs(item.name)),
        },
      ]),
    },
    {
      group: "Models",
      actions: (models.data?.items ?? []).map((item) => ({
        id: `model ${item.name}`,
        label: item.name,
        description: item.latest_version ? `version ${item.latest_version}` : "",
        leftSection: <IconCube size={SIZE} />,
        onClick: () => void navigate(paths.model(item.name)),
      })),
    },
    {
      group: "Nodes",
      actions: (nodes.data?.items ?? []).map((item) => ({
        id: `node ${item.name}`,
        label: item.name,
        description: item.state,
        leftSection: <IconServer2 size={SIZE} />,
        onClick: () => void navigate(paths.node(item.name)),
      })),
    },
    {
      group: "Operations",
      actions: (operations.data?.items ?? []).slice(0, RECENT_OPERATIONS).map((item) => ({
        id: `operation ${item.id}`,
        label: operationTitle(item),
        description: item.state,
        leftSection: <IconHistory size={SIZE} />,
        onClick: () => void navigate(paths.operation(item.id)),
      })),
    },
  ];
}

function useActions(): SpotlightActionGroupData[] {
  const navigate = useNavigate();
  const { toggleColorScheme } = useMantineColorScheme();
  const mayDeploy = useRefusal("deploy") === undefined;
  const mayJoin = useRefusal("operate") === undefined;
  const mayManage = useRefusal("administer") === undefined;
  const settings = [
    ["Profile and password", paths.settings()],
    ["API tokens", paths.tokens()],
    ...(mayManage ? [["Users and roles", paths.users()] as const] : []),
    ["Instance types", paths.instanceTypes()],
    ["Storage", paths.storage()],
    ["About", paths.about()],
  ] as const;
  return [
    {
      group: "Actions",
      actions: [
        // What the role refuses is left out: there is no tooltip here to say why.
        ...(mayDeploy
          ? [{ id: "deploy", label: "Deploy a model", leftSection: <IconRocket size={SIZE} />, onClick: () => void navigate(paths.deploy()) }]
          : []),
        ...(mayJoin
          ? [{ id: "join", label: "Join a node", leftSection: <IconPlus size={SIZE} />, onClick: () => void navigate(paths.joinNode()) }]
          : []),
        { id: "theme", label: "Switch between light and dark", leftSection: <IconSunMoon size={SIZE} />, onClick: toggleColorScheme },
        { id: "keys", label: "Show the keys", leftSection: <IconKeyboard size={SIZE} />, onClick: keyHelp.open },
      ],
    },
    {
      group: "Pages",
      actions: [...MAIN, ...INFRASTRUCTURE].map((item) => {
        const Icon = item.icon;
        return { id: `page ${item.label}`, label: item.label, leftSection: <Icon size={SIZE} />, onClick: () => void navigate(item.link) };
      }),
    },
    {
      group: "Settings",
      actions: settings.map(([label, link]) => ({ id: `settings ${label}`, label, onClick: () => void navigate(link) })),
    },
  ];
}

/** Choosing closes: forced open, the palette does not do so by itself. */
const closing = (groups: SpotlightActionGroupData[], close: () => void): SpotlightActionGroupData[] =>
  groups.map((group) => ({
    ...group,
    actions: group.actions.map((action) => ({
      ...action,
      onClick: (event: React.MouseEvent<HTMLButtonElement>) => {
        close();
        action.onClick?.(event);
      },
    })),
  }));

export default function CommandPalette() {
  const opened = useSyncExternalStore(palette.subscribe, palette.isOpen);
  const [query, setQuery] = useState("");
  const things = useThings(opened);
  const actions = useActions();
  // Before anything is typed the list is what can be done; things come with their first letter.
  const groups = query.trim() === "" ? [...actions, ...things] : [...things, ...actions];
  const close = () => {
    palette.close();
    setQuery("");
  };
  return (
    <Spotlight
      forceOpened={opened}
      onSpotlightClose={close}
      shortcut={null}
      query={query}
      onQueryChange={setQuery}
      actions={closing(groups.filter((group) => group.actions.length > 0), close)}
      nothingFound="Nothing of that name"
      limit={24}
      highlightQuery
      scrollable
      maxHeight={440}
      searchProps={{
        leftSection: <IconSearch size={SIZE} />,
        placeholder: "Go to a model, an endpoint, a node, a page or an action",
        "aria-label": "Search",
      }}
    />
  );
}
