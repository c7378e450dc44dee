/** A new API token: its name, what it may do, and for how long. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Checkbox, Select, TextInput } from "@mantine/core";
import { IconKey } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { createToken, type NewToken, sessionQuery } from "@/api/session";
import type { Scope } from "@/api/types";
import { AsCodeButton } from "@/components/as-code";
import { Card } from "@/components/card";
import { ProblemCard } from "@/components/problem-card";
import { Segmented } from "@/components/segmented";
import { ShownOnce } from "@/components/shown-once";
import classes from "../pages/settings.module.css";
import { tokenRecipe } from "../recipes";
import { expiryOf, LIFETIMES, SCOPE_WORDS } from "../token-choices";

export function TokenForm() {
  const queryClient = useQueryClient();
  const session = useQuery(sessionQuery());
  const [name, setName] = useState("");
  const [limited, setLimited] = useState(false);
  const [scopes, setScopes] = useState<Scope[]>(["invoke"]);
  const [days, setDays] = useState("90");
  const held = session.data?.user?.permissions ?? [];
  const body = (): NewToken => ({
    name: name.trim(),
    scopes: limited ? scopes : null,
    expires_at: expiryOf(days, Date.now()),
  });
  const create = useMutation({
    mutationFn: () => createToken(body()),
    onSuccess: async () => {
      setName("");
      await queryClient.invalidateQueries({ queryKey: keys.tokens });
    },
  });
  const toggle = (scope: Scope, on: boolean) => setScopes((old) => (on ? [...old, scope] : old.filter((each) => each !== scope)));
  return (
    <Card title={t`New token`}>
      <form
        className={classes["tall"]}
        onSubmit={(event) => {
          event.preventDefault();
          create.mutate();
        }}
      >
        <div className={classes["form"]}>
          <TextInput
            label={t`Name`}
            placeholder="ci"
            w={240}
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Select label={t`Works for`} w={150} data={LIFETIMES} value={days} onChange={(value) => setDays(value ?? "90")} />
          <div>
            <span className={classes["label"]}>
              <Trans>May do</Trans>
            </span>
            <Segmented
              label={t`May do`}
              value={limited ? "some" : "all"}
              options={[
                { value: "all", label: t`All that I may` },
                { value: "some", label: t`Only this` },
              ]}
              onChange={(value) => setLimited(value === "some")}
            />
          </div>
        </div>
        {limited ? (
          <fieldset className={classes["scopes"]}>
            <legend className="sr-only">
              <Trans>Scopes</Trans>
            </legend>
            {SCOPE_WORDS.map(({ scope, words }) => (
              <Checkbox
                key={scope}
                label={words}
                description={held.includes(scope) ? undefined : t`not in your role, so it will not work`}
                checked={scope === "read" || scopes.includes(scope)}
                disabled={scope === "read"}
                onChange={(event) => toggle(scope, event.currentTarget.checked)}
              />
            ))}
          </fieldset>
        ) : null}
        <div className={classes["form"]}>
          <Button
            type="submit"
            leftSection={<IconKey size={15} />}
            disabled={name.trim() === "" || (limited && scopes.length === 0)}
            loading={create.isPending}
          >
            <Trans>Make a token</Trans>
          </Button>
          <AsCodeButton recipe={() => tokenRecipe(body())} />
        </div>
      </form>
      {create.error ? <ProblemCard error={create.error} title={t`The token could not be made`} /> : null}
      {create.data ? (
        <ShownOnce text={create.data.token} label={t`token`}>
          <Trans>
            <b>{create.data.name}</b> is shown only now. Copy it to where it is needed.
          </Trans>
        </ShownOnce>
      ) : null}
    </Card>
  );
}
