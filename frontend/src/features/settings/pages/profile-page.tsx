/** Who one is, and how the studio looks and listens. */
import { Switch, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sessionQuery } from "@/api/session";
import { Card } from "@/components/card";
import { Segmented } from "@/components/segmented";
import { setSingleKeysOff, singleKeysOff } from "@/components/single-keys";
import classes from "./settings.module.css";

const KEYS: [string, string][] = [
  ["Ctrl K", "search or jump to anything"],
  ["g o, g d, g m, g e, g n, g t", "go to overview, deploy, models, endpoints, nodes, test console"],
  ["/", "filter the list"],
  ["j, k, Enter", "move in a list, open"],
];

export function ProfilePage() {
  const { data } = useQuery(sessionQuery());
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [off, setOff] = useState(singleKeysOff);
  return (
    <div className={classes["stack"]}>
      <Card title="Account">
        <dl className={classes["facts"]}>
          <div>
            <dt>User name</dt>
            <dd>{data?.user?.username ?? "–"}</dd>
          </div>
          <div>
            <dt>Role</dt>
            <dd>{data?.user?.role ?? "–"}</dd>
          </div>
        </dl>
      </Card>
      <Card title="Appearance">
        <Segmented
          label="Theme"
          value={colorScheme}
          options={[
            { value: "auto", label: "As the system" },
            { value: "light", label: "Light" },
            { value: "dark", label: "Dark" },
          ]}
          onChange={setColorScheme}
        />
      </Card>
      <Card title="Keyboard">
        <dl className={classes["keys"]}>
          {KEYS.map(([key, what]) => (
            <div key={key}>
              <dt className="mono">{key}</dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <Switch
          mt={12}
          label="Single-letter keys"
          checked={!off}
          onChange={(event) => {
            const next = !event.currentTarget.checked;
            setSingleKeysOff(next);
            setOff(next);
          }}
        />
      </Card>
    </div>
  );
}
