/** Changing one's own password. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, PasswordInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { toProblem } from "@/api/problem";
import { changePassword, sessionQuery } from "@/api/session";
import { Card } from "@/components/card";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import classes from "../pages/settings.module.css";

export function PasswordCard() {
  const queryClient = useQueryClient();
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const change = useMutation({
    mutationFn: () => changePassword(current, password),
    onSuccess: async () => {
      setCurrent("");
      setPassword("");
      notifyDone(t`The password is changed; other browsers are signed out`);
      // The session has a new CSRF token.
      await queryClient.fetchQuery({ ...sessionQuery(), staleTime: 0 });
      await queryClient.invalidateQueries({ queryKey: keys.sessions });
    },
  });
  const problem = change.error ? toProblem(change.error) : null;
  const wrong = problem?.code === "BadCredentials" ? t`This is not your password.` : undefined;
  const refused = problem?.code === "PasswordRefused" ? problem.detail : undefined;
  return (
    <Card title={t`Password`} hint={t`changing it signs your other browsers out`}>
      <form
        className={classes["form"]}
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <PasswordInput
          label={t`Current password`}
          w={240}
          autoComplete="current-password"
          value={current}
          error={wrong}
          onChange={(event) => setCurrent(event.currentTarget.value)}
        />
        <PasswordInput
          label={t`New password`}
          w={240}
          autoComplete="new-password"
          value={password}
          error={refused}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <Button type="submit" variant="default" disabled={current === "" || password === ""} loading={change.isPending}>
          <Trans>Change the password</Trans>
        </Button>
      </form>
      {problem && !wrong && !refused ? <ProblemCard error={problem} title={t`The password was not changed`} /> : null}
    </Card>
  );
}
