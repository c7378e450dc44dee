/** Search from anywhere: models, endpoints, nodes and actions. */
import { Spotlight, type SpotlightActionData, type SpotlightActionGroupData } from "@mantine/spotlight";
import { IconApi, IconCube, IconKey, IconPlus, IconRocket, IconSearch, IconServer2, IconTerminal2 } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, useSyncExternalStore } from "react";
import { endpointsQuery } from "@/api/endpoints";
import { modelsQuery } from "@/api/models";
import { nodesQuery } from "@/api/nodes";
import { paths } from "@/app/paths";
import { closePalette, onPalette, paletteOpen } from "./palette-store";

export default function CommandPalette() {
  const opened = useSyncExternalStore(onPalette, paletteOpen);
  const [query, setQuery] = useState("");
  const navigate = useNavigate();
  const models = useQuery({ ...modelsQuery({ limit: 200 }), enabled: opened });
  const endpoints = useQuery({ ...endpointsQuery({ limit: 200 }), enabled: opened });
  const nodes = useQuery({ ...nodesQuery(), enabled: opened, refetchInterval: false });

  const actions: SpotlightActionData[] = [
    { id: "deploy", label: "Deploy a model", leftSection: <IconRocket size={17} />, onClick: () => void navigate(paths.deploy()) },
    { id: "join", label: "Join a node", leftSection: <IconPlus size={17} />, onClick: () => void navigate(paths.joinNode()) },
    { id: "test", label: "Open the test console", leftSection: <IconTerminal2 size={17} />, onClick: () => void navigate(paths.test()) },
    { id: "tokens", label: "API tokens", leftSection: <IconKey size={17} />, onClick: () => void navigate(paths.tokens()) },
  ];
  const groups: SpotlightActionGroupData[] = [
    {
      group: "Endpoints",
      actions: (endpoints.data?.items ?? []).map((item) => ({
        id: `endpoint ${item.name}`,
        label: item.name,
        description: item.serving_state,
        leftSection: <IconApi size={17} />,
        onClick: () => void navigate(paths.endpoint(item.name)),
      })),
    },
    {
      group: "Models",
      actions: (models.data?.items ?? []).map((item) => ({
        id: `model ${item.name}`,
        label: item.name,
        description: item.latest_version ? `version ${item.latest_version}` : "",
        leftSection: <IconCube size={17} />,
        onClick: () => void navigate(paths.model(item.name)),
      })),
    },
    {
      group: "Nodes",
      actions: (nodes.data?.items ?? []).map((item) => ({
        id: `node ${item.name}`,
        label: item.name,
        description: item.state,
        leftSection: <IconServer2 size={17} />,
        onClick: () => void navigate(paths.node(item.name)),
      })),
    },
    { group: "Actions", actions },
  ];
  return (
    <Spotlight
      forceOpened={opened}
      onSpotlightClose={closePalette}
      shortcut={null}
      query={query}
      onQueryChange={setQuery}
      actions={groups.filter((group) => group.actions.length > 0)}
      nothingFound="Nothing of that name"
      limit={12}
      highlightQuery
      scrollable
      maxHeight={420}
      searchProps={{
        leftSection: <IconSearch size={17} />,
        placeholder: "Go to a model, an endpoint, a node or an action",
        "aria-label": "Search",
      }}
    />
  );
}
