/** The next page of a list that is shown page by page; nothing at its end. */
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";

export interface ShowMoreProps {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
  /** Also beside it and below it: within a card. */
  inset?: boolean;
}

export function ShowMore({ hasNextPage, isFetchingNextPage, fetchNextPage, inset = false }: ShowMoreProps) {
  if (!hasNextPage) return null;
  return (
    <Button variant="default" {...(inset ? { m: 12 } : { mt: 12 })} loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
      <Trans>Show more</Trans>
    </Button>
  );
}
