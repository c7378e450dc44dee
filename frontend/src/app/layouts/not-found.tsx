/** No page at this address. Stands inside the frame, so that the side bar and the search stay at hand. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { IconMapQuestion, IconSearch } from "@tabler/icons-react";
import { useRouterState } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import { EmptyState } from "@/components/empty-state";
import { LinkButton } from "@/components/link-button";
import { usePageTitle } from "@/components/page-header";
import { palette } from "./toggles";

export function NotFoundPage() {
  usePageTitle(t`Not found`);
  const asked = useRouterState({ select: (state) => state.location.pathname });
  return (
    <>
      <h1 className="sr-only">
        <Trans>Not found</Trans>
      </h1>
      <EmptyState
        icon={<IconMapQuestion size={34} stroke={1.4} />}
        title={t`There is no page here`}
        detail={
          <>
            <Trans>
              Nothing is at <code className="mono">{asked}</code>. The link may be old, or what it named was deleted.
            </Trans>
          </>
        }
        action={
          <>
            <Button leftSection={<IconSearch size={16} />} onClick={palette.open}>
              <Trans>Search</Trans>
            </Button>
            <LinkButton {...paths.overview()} variant="default">
              <Trans>Go to the overview</Trans>
            </LinkButton>
          </>
        }
      />
    </>
  );
}
