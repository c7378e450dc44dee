/** The bar under each step: back on the left, what holds things up, forward on the right. */
import { Trans } from "@lingui/react/macro";
import { Button } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { IconArrowRight } from "@tabler/icons-react";
import classes from "./footer.module.css";

export interface FooterProps {
  onBack?: () => void;
  message?: React.ReactNode;
  tone?: "error" | undefined;
  /** Another way forward, left of the main one. */
  second?: React.ReactNode;
  forward: string;
  onForward: () => void;
  blocked?: boolean;
  busy?: boolean;
}

export function Footer({ onBack, message, tone, second, forward, onForward, blocked = false, busy = false }: FooterProps) {
  useHotkeys(
    [
      ["mod+Enter", () => (blocked || busy ? undefined : onForward())],
      ["alt+ArrowRight", () => (blocked || busy ? undefined : onForward())],
      ["alt+ArrowLeft", () => onBack?.()],
    ],
    [],
  );
  return (
    <div className={classes["footer"]}>
      {onBack ? (
        <Button variant="default" onClick={onBack}>
          <Trans>Back</Trans>
        </Button>
      ) : null}
      <span className={classes["footerMessage"]} data-tone={tone} role="status">
        {message}
      </span>
      {second}
      <Button rightSection={<IconArrowRight size={15} aria-hidden />} onClick={onForward} disabled={blocked} loading={busy}>
        {forward}
      </Button>
    </div>
  );
}
