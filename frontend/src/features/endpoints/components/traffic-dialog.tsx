/** The traffic between an endpoint's deployments, from anywhere: the editor of its page in a dialog. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Modal } from "@mantine/core";
import { useNavigate, useRouterState } from "@tanstack/react-router";
import type { Endpoint } from "@/api/types";
import { paths } from "@/app/paths";
import { TrafficBar } from "@/components/traffic-bar";
import { splitText } from "../traffic";
import { TrafficEditor, useTrafficControl } from "./traffic-control";
import classes from "./traffic-control.module.css";

export function TrafficDialog({ endpoint, onClose }: { endpoint: Endpoint; onClose: () => void }) {
  const navigate = useNavigate();
  const shown = useRouterState({ select: (state) => state.location.pathname.startsWith(`/endpoints/${endpoint.name}/`) });
  // why there: the change is watched, and undone, on the endpoint's own pages.
  const control = useTrafficControl(endpoint, {
    onApplied: () => {
      onClose();
      if (!shown) void navigate(paths.endpoint(endpoint.name));
    },
  });
  return (
    <>
      <Modal
        opened={!control.asking}
        onClose={onClose}
        title={t`Traffic of ${endpoint.name}`}
        size={460}
        closeButtonProps={{ "aria-label": t`Close` }}
      >
        <div className={classes["dialog"]}>
          <TrafficBar traffic={control.draft} />
          <TrafficEditor control={control} />
        </div>
        <div className={classes["dialogActions"]}>
          <Button variant="default" onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          <Button disabled={!control.changed || !control.valid} onClick={control.apply}>
            <Trans>Apply {splitText(control.draft, control.names)}</Trans>
          </Button>
        </div>
      </Modal>
      {control.dialog}
    </>
  );
}
