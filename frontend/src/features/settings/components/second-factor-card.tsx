/** One's own one-time codes. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Modal, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { toProblem } from "@/api/problem";
import { disableSecondFactor, secondFactorQuery, sessionQuery } from "@/api/session";
import { Card } from "@/components/card";
import { notifyDone } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { SecondFactorSetup } from "@/components/second-factor-setup";
import classes from "../pages/settings.module.css";

export function SecondFactorCard() {
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery(secondFactorQuery());
  const [open, setOpen] = useState(false);
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const renew = async () => {
    // The session has a new CSRF token once it is set up.
    await queryClient.fetchQuery({ ...sessionQuery(), staleTime: 0 });
    await queryClient.invalidateQueries({ queryKey: keys.secondFactor });
    await queryClient.invalidateQueries({ queryKey: keys.sessions });
  };
  const close = () => {
    setOpen(false);
    setPassword("");
    setCode("");
    disable.reset();
  };
  const disable = useMutation({
    mutationFn: () => disableSecondFactor(password, code),
    onSuccess: async () => {
      close();
      notifyDone(t`Signing in asks for no code any more`);
      await renew();
    },
  });
  if (error && !data) return <ProblemCard error={error} title={t`Your second factor could not be loaded`} onRetry={() => void refetch()} />;
  const on = data?.state === "on";
  const problem = disable.error ? toProblem(disable.error) : null;
  const wrongPassword = problem?.code === "BadCredentials" ? t`This is not your password.` : undefined;
  const wrongCode = problem?.code === "CodeWrong" ? t`This code is wrong, or was used already.` : undefined;
  return (
    <Card title={t`Second factor`} hint={t`a code of an app, asked for after the password`}>
      <p className="secondary">
        {on
          ? plural(data.recovery_codes_left, {
              one: "Signing in asks for a code. # recovery code is left.",
              other: "Signing in asks for a code. # recovery codes are left.",
            })
          : t`Signing in asks for the password alone.`}
      </p>
      <Button variant="default" disabled={data === undefined} onClick={() => setOpen(true)}>
        {on ? t`Take it away` : t`Set it up`}
      </Button>
      <Modal
        opened={open}
        // Setting it up may have ended by closing the dialog, after the code.
        onClose={() => {
          close();
          void renew();
        }}
        title={on ? t`Take the second factor away` : t`Set up a second factor`}
        size={460}
        closeButtonProps={{ "aria-label": t`Close` }}
      >
        {on ? (
          <form
            className={classes["tall"]}
            onSubmit={(event) => {
              event.preventDefault();
              disable.mutate();
            }}
          >
            <PasswordInput
              label={t`Your password`}
              autoComplete="current-password"
              data-autofocus
              value={password}
              error={wrongPassword}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            <TextInput
              label={t`Code of the app, or a recovery code`}
              autoComplete="one-time-code"
              value={code}
              error={wrongCode}
              onChange={(event) => setCode(event.currentTarget.value)}
            />
            {problem && !wrongPassword && !wrongCode ? <ProblemCard error={problem} title={t`It stays as it is`} /> : null}
            <div className={classes["actions"]}>
              <Button variant="default" onClick={close}>
                <Trans>Cancel</Trans>
              </Button>
              <Button type="submit" color="red" disabled={password === "" || code === ""} loading={disable.isPending}>
                <Trans>Take it away</Trans>
              </Button>
            </div>
          </form>
        ) : (
          <SecondFactorSetup
            onDone={() => {
              close();
              void renew();
            }}
          />
        )}
      </Modal>
    </Card>
  );
}
