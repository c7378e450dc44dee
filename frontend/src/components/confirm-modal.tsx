/** Asks before something is lost; where much depends on it, the name must be typed. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Modal, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { ProblemCard } from "./problem-card";
import classes from "./confirm-modal.module.css";

export interface ConfirmModalProps {
  opened: boolean;
  onClose: () => void;
  title: string;
  children?: React.ReactNode;
  /** Says what happens: "Delete blue". Null while there is nothing to confirm: then there is no button for it. */
  confirmLabel: string | null;
  danger?: boolean;
  /** Must be typed before the button works. */
  typeToConfirm?: string | undefined;
  /** Something in `children` must be answered first. */
  blocked?: boolean;
  /** Rejects to keep the dialog open with the problem shown. */
  onConfirm: () => Promise<unknown>;
}

export function ConfirmModal(props: ConfirmModalProps) {
  const { opened, onClose, title, children, confirmLabel, danger = false, typeToConfirm, blocked = false, onConfirm } = props;
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    if (opened) {
      setTyped("");
      setError(null);
    }
  }, [opened]);
  useEffect(() => setError(null), [blocked]);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Modal opened={opened} onClose={onClose} title={title} size={460} closeButtonProps={{ "aria-label": t`Close` }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          // why: Enter in a field sends a form without a button, too.
          if (confirmLabel !== null) void confirm();
        }}
      >
        <div className={classes["body"]}>
          {children}
          {typeToConfirm ? (
            <TextInput
              label={t`Type ${typeToConfirm} to confirm`}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
              autoComplete="off"
              data-autofocus
            />
          ) : null}
          {error && !blocked ? <ProblemCard error={error} /> : null}
        </div>
        <div className={classes["actions"]}>
          <Button variant="default" onClick={onClose}>
            <Trans>Cancel</Trans>
          </Button>
          {confirmLabel === null ? null : (
            <Button
              type="submit"
              {...(danger ? { color: "red" } : {})}
              loading={busy}
              disabled={blocked || (typeToConfirm !== undefined && typed !== typeToConfirm)}
            >
              {confirmLabel}
            </Button>
          )}
        </div>
      </form>
    </Modal>
  );
}
