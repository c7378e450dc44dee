/** A page that could not be drawn: the rest of the studio stays usable. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { usePageTitle } from "@/components/page-header";
import { ProblemCard } from "@/components/problem-card";

export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  usePageTitle(t`Error`);
  return (
    <div style={{ padding: 20, maxWidth: 720, marginInline: "auto" }}>
      <h1 className="sr-only">
        <Trans>Error</Trans>
      </h1>
      <ProblemCard
        error={error}
        title={t`This page could not be shown`}
        onRetry={() => {
          reset();
          void router.invalidate();
        }}
      />
    </div>
  );
}
