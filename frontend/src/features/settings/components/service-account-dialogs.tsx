/** A new service account, and a fresh token for one. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Modal, NumberInput, Select } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { keys } from "@/api/keys";
import { createServiceAccount, rotateServiceAccount } from "@/api/service-accounts";
import type { Role } from "@/api/types";
import { ProblemCard } from "@/components/problem-card";
import { ShownOnce } from "@/components/shown-once";
import classes from "../pages/settings.module.css";
import { AccountFields } from "./account-fields";

function Made({ name, token, onClose }: { name: string; token: string; onClose: () => void }) {
  return (
    <>
      <ShownOnce text={token} label={t`token`}>
        <Trans>
          The token of <b>{name}</b> is shown only now. Copy it to where it is needed.
        </Trans>
      </ShownOnce>
      <div className={classes["actions"]}>
        <Button onClick={onClose}>
          <Trans>Done</Trans>
        </Button>
      </div>
    </>
  );
}

export function AddServiceAccountModal({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("deployer");
  const [days, setDays] = useState<number | string>("");
  const create = useMutation({
    mutationFn: () => createServiceAccount(name.trim(), role, typeof days === "number" ? days : null),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keys.serviceAccounts }),
  });
  const { reset } = create;
  useEffect(() => {
    if (!opened) return;
    setName("");
    setRole("deployer");
    setDays("");
    reset();
  }, [opened, reset]);
  return (
    <Modal opened={opened} onClose={onClose} title={t`Add a service account`} size={480} closeButtonProps={{ "aria-label": t`Close` }}>
      {create.data ? (
        <Made name={create.data.name} token={create.data.token} onClose={onClose} />
      ) : (
        <form
          className={classes["tall"]}
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate();
          }}
        >
          <AccountFields label={t`Name`} name={name} role={role} onName={setName} onRole={setRole} />
          <NumberInput
            label={t`Days that its token works`}
            description={t`Empty: as the installation is set`}
            min={1}
            allowDecimal={false}
            value={days}
            onChange={setDays}
          />
          {create.error ? <ProblemCard error={create.error} title={t`${name} could not be added`} /> : null}
          <div className={classes["actions"]}>
            <Button variant="default" onClick={onClose}>
              <Trans>Cancel</Trans>
            </Button>
            <Button type="submit" disabled={name.trim() === ""} loading={create.isPending}>
              {name.trim() ? t`Add ${name.trim()}` : t`Add it`}
            </Button>
          </div>
        </form>
      )}
    </Modal>
  );
}

const OVERLAPS = [
  { value: "0", label: t`end at once` },
  { value: "3600", label: t`work for another hour` },
  { value: "86400", label: t`work for another day` },
  { value: "604800", label: t`work for another week` },
];

export function RotateModal({ name, onClose }: { name: string | null; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [overlap, setOverlap] = useState("86400");
  const rotate = useMutation({
    mutationFn: () => rotateServiceAccount(name ?? "", Number(overlap)),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keys.serviceAccounts }),
  });
  const { reset } = rotate;
  useEffect(reset, [name, reset]);
  return (
    <Modal
      opened={name !== null}
      onClose={onClose}
      title={t`Fresh token for ${name ?? ""}`}
      size={480}
      closeButtonProps={{ "aria-label": t`Close` }}
    >
      {rotate.data ? (
        <Made name={rotate.data.name} token={rotate.data.token} onClose={onClose} />
      ) : (
        <div className={classes["tall"]}>
          <Select label={t`Older tokens`} data={OVERLAPS} value={overlap} onChange={(value) => setOverlap(value ?? "86400")} />
          {rotate.error ? <ProblemCard error={rotate.error} title={t`The token could not be made`} /> : null}
          <div className={classes["actions"]}>
            <Button variant="default" onClick={onClose}>
              <Trans>Cancel</Trans>
            </Button>
            <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
              <Trans>Make a fresh token</Trans>
            </Button>
          </div>
        </div>
      )}
    </Modal>
  );
}
