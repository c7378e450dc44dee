/** Where somebody is led whose role must have a second factor, and who has none yet: nothing else opens before. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { sessionQuery, signOut } from "@/api/session";
import { Logo } from "@/components/logo";
import { usePageTitle } from "@/components/page-header";
import { SecondFactorSetup } from "@/components/second-factor-setup";
import classes from "./login-page.module.css";

export function SecondFactorPage() {
  usePageTitle(t`Second factor`);
  const router = useRouter();
  const queryClient = useQueryClient();
  const { data: session } = useQuery(sessionQuery());
  const role = session?.user?.role;
  const leave = async (to: string) => {
    await queryClient.fetchQuery({ ...sessionQuery(), staleTime: 0 });
    router.history.push(to);
  };
  return (
    <main className={classes["page"]}>
      <div className={classes["card"]}>
        <div className={classes["brand"]}>
          <Logo size={44} />
          <h1>
            <Trans>Set up a second factor</Trans>
          </h1>
          <p>
            {role === undefined ? (
              <Trans>This installation wants one of the role that you have</Trans>
            ) : (
              <Trans>This installation wants one of the role {role}</Trans>
            )}
          </p>
        </div>
        <SecondFactorSetup onDone={() => void leave("/")} />
        <Button
          variant="subtle"
          size="compact-sm"
          onClick={async () => {
            await signOut();
            await leave("/login");
          }}
        >
          <Trans>Sign out</Trans>
        </Button>
      </div>
    </main>
  );
}
