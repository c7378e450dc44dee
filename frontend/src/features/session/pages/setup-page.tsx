/** The first run: the link that was printed opens this page once, for the first administrator. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, PasswordInput, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { keys } from "@/api/keys";
import { problemText, toProblem } from "@/api/problem";
import { finishSetup, setupQuery } from "@/api/setup";
import { paths } from "@/app/paths";
import { LinkButton } from "@/components/link-button";
import { Logo } from "@/components/logo";
import { usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";
import { SkeletonRows } from "@/components/skeleton";
import { setupState, shortPassword, tokenOf } from "../setup-state";
import classes from "./login-page.module.css";

export function SetupPage() {
  usePageTitle(t`First run`);
  const [token] = useState(() => tokenOf(window.location.hash));
  const { data, error, refetch } = useQuery({ ...setupQuery(), staleTime: Number.POSITIVE_INFINITY });
  const state = setupState(data?.open, token);
  return (
    <main className={classes["page"]}>
      <div className={classes["card"]}>
        <div className={classes["brand"]}>
          <Logo size={44} />
          <h1>{state === "closed" ? t`Shoal is set up already` : t`Welcome to Shoal`}</h1>
          {state === "form" ? (
            <p>
              <Trans>Choose how you sign in from now on</Trans>
            </p>
          ) : null}
        </div>
        {error ? <ProblemCard error={error} title={t`The studio could not be asked`} onRetry={() => void refetch()} /> : null}
        {state === "loading" && !error ? <SkeletonRows rows={3} label={t`Asking the studio`} /> : null}
        {state === "form" ? <SetupForm token={token} /> : null}
        {state === "closed" ? (
          <Elsewhere
            text={t`The link of the first run works once, and somebody has been here. An administrator can add you, or set a new password.`}
          />
        ) : null}
        {state === "no-token" ? (
          <Elsewhere
            text={t`This page is opened by the whole link that the first start printed. It lies in secrets/setup-link of the data folder until it is used.`}
          />
        ) : null}
      </div>
    </main>
  );
}

function Elsewhere({ text }: { text: string }) {
  return (
    <>
      <p className={classes["help"]}>{text}</p>
      <LinkButton {...paths.login()} fullWidth>
        <Trans>Sign in</Trans>
      </LinkButton>
    </>
  );
}

function SetupForm({ token }: { token: string }) {
  const router = useRouter();
  const queryClient = useQueryClient();
  const [username, setUsername] = useState("admin");
  const [password, setPassword] = useState("");
  const finish = useMutation({
    mutationFn: () => finishSetup({ token, username, password }),
    onSuccess: (session) => {
      queryClient.setQueryData(keys.session, session);
      // The token is dead by now, and goes from the history as well.
      router.history.replace("/");
    },
  });
  const problem = finish.error ? toProblem(finish.error) : null;
  const about = (field: string) => (problem?.field === field ? problemText(problem) : undefined);
  const short = shortPassword(password);
  return (
    <form
      style={{ display: "contents" }}
      onSubmit={(event) => {
        event.preventDefault();
        if (short === null) finish.mutate();
      }}
    >
      <TextInput
        label={t`User name`}
        name="username"
        autoComplete="username"
        required
        withAsterisk={false}
        value={username}
        error={about("username")}
        onChange={(event) => setUsername(event.currentTarget.value)}
      />
      <PasswordInput
        label={t`Password`}
        name="password"
        description={t`8 characters or more`}
        autoComplete="new-password"
        autoFocus
        required
        withAsterisk={false}
        value={password}
        error={short ?? about("password")}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {problem && !["username", "password"].includes(problem.field ?? "") ? (
        <p className={classes["problem"]} role="alert">
          {[problemText(problem), ...problem.hints].join(" ")}
        </p>
      ) : null}
      <Button type="submit" loading={finish.isPending} fullWidth>
        <Trans>Begin</Trans>
      </Button>
    </form>
  );
}
