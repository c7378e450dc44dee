/** Who one is, and how the studio looks and listens. */
import { Switch, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sessionQuery } from "@/api/session";
import { Card } from "@/components/card";
import { Segmented } from "@/components/segmented";
import { setSingleKeysOff, singleKeysOff } from "@/components/single-keys";
import { SHORTCUTS } from "@/components/shortcuts";
import { browserZone, setShowsUtc, showsUtc } from "@/components/zone";
import { PasswordCard } from "../components/password-card";
import { SecondFactorCard } from "../components/second-factor-card";
import { SessionsCard } from "../components/sessions-card";
import { roleDescription } from "../role-descriptions";
import classes from "./settings.module.css";

export function ProfilePage() {
  const { data } = useQuery(sessionQuery());
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [off, setOff] = useState(singleKeysOff);
  const [utc, setUtc] = useState(showsUtc);
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
            <dd>
              {data?.user?.role ?? "–"}
              {data?.user ? <span className="muted"> · {roleDescription(data.user.role).toLowerCase()}</span> : null}
            </dd>
          </div>
        </dl>
      </Card>
      {data?.user?.sign_in === "password" || data?.user?.sign_in === "break_glass" ? (
        <>
          <PasswordCard />
          <SecondFactorCard />
        </>
      ) : null}
      <SessionsCard />
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
      <Card title="Times" hint="tooltips name the zone">
        {browserZone() === "UTC" ? (
          <p className="secondary">This browser is in UTC.</p>
        ) : (
          <Segmented
            label="Zone"
            value={utc ? "utc" : "browser"}
            options={[
              { value: "browser", label: browserZone() },
              { value: "utc", label: "UTC" },
            ]}
            onChange={(zone) => {
              setShowsUtc(zone === "utc");
              setUtc(zone === "utc");
            }}
          />
        )}
      </Card>
      <Card title="Keyboard">
        <dl className={classes["keys"]}>
          {SHORTCUTS.map(([key, what]) => (
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
