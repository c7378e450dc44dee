/** No such page, or no such thing. */
import { IconMapQuestion } from "@tabler/icons-react";
import { paths } from "@/app/paths";
import { EmptyState } from "@/components/empty-state";
import { LinkButton } from "@/components/link-button";
import { usePageTitle } from "@/components/page-header";

export function NotFoundPage() {
  usePageTitle("Not found");
  return (
    <main style={{ paddingTop: 60 }}>
      <h1 className="sr-only">Not found</h1>
      <EmptyState
        icon={<IconMapQuestion size={34} stroke={1.4} />}
        title="There is no page here"
        detail="The link may be old, or what it named was deleted. Press Ctrl K to search for a model, an endpoint or a node."
        action={
          <LinkButton {...paths.overview()} variant="default">
            Go to the overview
          </LinkButton>
        }
      />
    </main>
  );
}
