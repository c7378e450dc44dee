/** Who one is, and how the studio looks and listens. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Switch, useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { sessionQuery } from "@/api/session";
import { Card } from "@/components/card";
import { LanguageChoice } from "@/components/language-choice";
import { Segmented } from "@/components/segmented";
import { setSingleKeysOff, singleKeysOff } from "@/components/single-keys";
import { SHORTCUTS } from "@/components/shortcuts";
import { browserZone, setShowsUtc, showsUtc } from "@/components/zone";
import { PasswordCard } from "../components/password-card";
import { SecondFactorCard } from "../components/second-factor-card";
import { SessionsCard } from "../components/sessions-card";
import { roleDescriptionAfter } from "../role-descriptions";
import classes from "./settings.module.css";

export function ProfilePage() {
  const { data } = useQuery(sessionQuery());
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const [off, setOff] = useState(singleKeysOff);
  const [utc, setUtc] = useState(showsUtc);
  return (
    <div className={classes["stack"]}>
      <Card title={t`Account`}>
        <dl className={classes["facts"]}>
          <div>
            <dt>
              <Trans>User name</Trans>
            </dt>
            <dd>{data?.user?.username ?? "–"}</dd>
          </div>
          <div>
            <dt>
              <Trans>Role</Trans>
            </dt>
            <dd>
              {data?.user?.role ?? "–"}
              {data?.user ? <span className="muted"> · {roleDescriptionAfter(data.user.role)}</span> : null}
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
      <Card title={t`Appearance`}>
        <Segmented
          label={t`Theme`}
          value={colorScheme}
          options={[
            { value: "auto", label: t`As the system` },
            { value: "light", label: t`Light` },
            { value: "dark", label: t`Dark` },
          ]}
          onChange={setColorScheme}
        />
      </Card>
      <Card title={t`Language`} hint={t`messages of the server are in English`}>
        <LanguageChoice />
      </Card>
      <Card title={t`Times`} hint={t`tooltips name the zone`}>
        {browserZone() === "UTC" ? (
          <p className="secondary">
            <Trans>This browser is in UTC.</Trans>
          </p>
        ) : (
          <Segmented
            label={t`Zone`}
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
      <Card title={t`Keyboard`}>
        <dl className={classes["keys"]}>
          {SHORTCUTS.map(([key, what]) => (
            <div key={what}>
              <dt className="mono">{key}</dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <Switch
          mt={12}
          label={t`Single-letter keys`}
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
