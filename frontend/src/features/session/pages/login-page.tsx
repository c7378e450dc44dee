/** Signing in. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "@/api/keys";
import { toProblem, type ApiProblem } from "@/api/problem";
import { sessionQuery, signIn } from "@/api/session";
import { LanguageChoice } from "@/components/language-choice";
import { Logo } from "@/components/logo";
import { usePageTitle } from "@/components/page-header";
import { providerSignIn, signInError } from "../sign-in-errors";
import classes from "./login-page.module.css";

/** Only places of this studio: a link must not lead elsewhere after the sign-in. */
function safeNext(next: string | undefined): string {
  return next && next.startsWith("/") && !next.startsWith("//") && !next.startsWith("/\\") ? next : "/";
}

export function LoginPage() {
  usePageTitle(t`Sign in`);
  const router = useRouter();
  const queryClient = useQueryClient();
  const { next, error } = useSearch({ from: "/login" });
  const { data: session } = useQuery(sessionQuery());
  const provider = session?.ways.oidc ?? null;
  // The host's own administrator has a password even where others have none.
  const [local, setLocal] = useState(false);
  const withPassword = local || session?.ways.passwords !== false;
  const refused = signInError(error);
  const [username, setUsername] = useState("");
  const [password, setPassword] = useState("");
  // The password was right, and the account has a second factor.
  const [wantsCode, setWantsCode] = useState(false);
  const [code, setCode] = useState("");
  const [problem, setProblem] = useState<ApiProblem | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const session = await signIn(username, password, wantsCode ? code : "");
      queryClient.setQueryData(keys.session, session);
      router.history.push(safeNext(next));
    } catch (error) {
      const told = toProblem(error);
      if (told.code === "CodeNeeded") setWantsCode(true);
      else setProblem(told);
    } finally {
      setBusy(false);
    }
  };
  const wrongCode = problem?.code === "CodeWrong" ? problem.detail : undefined;
  const wrong = !wrongCode && (problem?.status === 401 || problem?.status === 400);
  return (
    <main className={classes["page"]}>
      <form
        className={classes["card"]}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <div className={classes["brand"]}>
          <Logo size={44} />
          <h1>
            <Trans>Sign in to Shoal</Trans>
          </h1>
          <p>
            <Trans>From a model file to a live endpoint</Trans>
          </p>
        </div>
        {refused ? (
          <p className={classes["problem"]} role="alert">
            {refused}
          </p>
        ) : null}
        {provider !== null ? (
          <Button component="a" href={providerSignIn(safeNext(next))} fullWidth autoFocus={!withPassword}>
            <Trans>Sign in with {provider}</Trans>
          </Button>
        ) : null}
        {withPassword ? (
          <>
            <TextInput
              label={t`User name`}
              name="username"
              autoComplete="username"
              autoFocus
              required
              withAsterisk={false}
              value={username}
              onChange={(event) => setUsername(event.currentTarget.value)}
            />
            <PasswordInput
              label={t`Password`}
              name="password"
              autoComplete="current-password"
              required
              withAsterisk={false}
              value={password}
              error={wrong ? problem?.detail || problem?.title : undefined}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            {wantsCode ? (
              <TextInput
                label={t`Code`}
                description={t`What your app shows, or a recovery code`}
                name="code"
                autoComplete="one-time-code"
                autoFocus
                required
                withAsterisk={false}
                value={code}
                error={wrongCode}
                onChange={(event) => setCode(event.currentTarget.value)}
              />
            ) : null}
          </>
        ) : null}
        {problem && !wrong && !wrongCode ? (
          <p className={classes["problem"]} role="alert">
            {problem.detail || problem.title}
          </p>
        ) : null}
        {withPassword ? (
          <Button type="submit" variant={provider === null ? "filled" : "default"} loading={busy} fullWidth>
            <Trans>Sign in</Trans>
          </Button>
        ) : (
          <Button variant="subtle" size="compact-sm" onClick={() => setLocal(true)}>
            <Trans>Sign in with the host&apos;s own password</Trans>
          </Button>
        )}
        {session?.ways.passwords !== false ? (
          <p className={classes["help"]}>
            <Trans>
              When the installation starts for the first time it prints, once, the first administrator&apos;s password and a link on which
              to choose one.
            </Trans>
          </p>
        ) : null}
        <LanguageChoice />
      </form>
    </main>
  );
}
