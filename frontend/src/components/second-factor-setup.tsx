/** Setting up one-time codes: the password once more, a secret for an app, a code of it, and the recovery codes. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { toProblem } from "@/api/problem";
import { beginSecondFactor, confirmSecondFactor } from "@/api/session";
import { CopyField } from "./copy";
import { DownloadButton } from "./download-button";
import { ProblemCard } from "./problem-card";
import classes from "./second-factor-setup.module.css";

export function SecondFactorSetup({ onDone }: { onDone: () => void }) {
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const begin = useMutation({ mutationFn: () => beginSecondFactor(password), onSuccess: () => setPassword("") });
  const confirm = useMutation({ mutationFn: () => confirmSecondFactor(code) });
  if (confirm.data) {
    const codes = confirm.data.recovery_codes;
    return (
      <div className={classes["steps"]}>
        <p role="status">
          <Trans>
            Signing in asks for a code from now on; other browsers are signed out. Keep these recovery codes: each signs you in once without
            the app, and they are shown only now.
          </Trans>
        </p>
        <ul className={classes["codes"]} aria-label={t`Recovery codes`}>
          {codes.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
        <div className={classes["actions"]}>
          <DownloadButton label={t`Download`} name="shoal-recovery-codes.txt" type="text/plain" content={() => `${codes.join("\n")}\n`} />
          <Button onClick={onDone}>
            <Trans>I have kept them</Trans>
          </Button>
        </div>
      </div>
    );
  }
  const problem = (begin.data ? confirm.error : begin.error) ?? null;
  const told = problem ? toProblem(problem) : null;
  const wrongPassword = told?.code === "BadCredentials" ? t`This is not your password.` : undefined;
  const wrongCode = told?.code === "CodeWrong" ? t`This is not the code that the app shows now.` : undefined;
  return (
    <form
      className={classes["steps"]}
      onSubmit={(event) => {
        event.preventDefault();
        if (begin.data) confirm.mutate();
        else begin.mutate();
      }}
    >
      {begin.data ? (
        <>
          <p>
            <Trans>Scan this with your app, or type the text into it. It is shown only now.</Trans>
          </p>
          <img
            className={classes["qr"]}
            alt={t`QR code of the secret, which is also below`}
            src={`data:image/svg+xml;utf8,${encodeURIComponent(begin.data.qr_svg)}`}
          />
          <CopyField text={begin.data.secret} label={t`secret`} />
          <TextInput
            label={t`Code that the app shows`}
            name="code"
            autoComplete="one-time-code"
            inputMode="numeric"
            data-autofocus
            autoFocus
            value={code}
            error={wrongCode}
            onChange={(event) => setCode(event.currentTarget.value)}
          />
        </>
      ) : (
        <PasswordInput
          label={t`Your password`}
          autoComplete="current-password"
          data-autofocus
          value={password}
          error={wrongPassword}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      )}
      {problem && !wrongPassword && !wrongCode ? <ProblemCard error={problem} title={t`It was not set up`} /> : null}
      <div className={classes["actions"]}>
        <Button type="submit" disabled={begin.data ? code.trim() === "" : password === ""} loading={begin.isPending || confirm.isPending}>
          {begin.data ? t`Confirm` : t`Show the secret`}
        </Button>
      </div>
    </form>
  );
}
