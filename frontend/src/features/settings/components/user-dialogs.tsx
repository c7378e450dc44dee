/** What an administrator does to somebody's account. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Modal } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { keys } from "@/api/keys";
import type { Person, Role } from "@/api/types";
import { createUser, resetPassword } from "@/api/users";
import { AsCodeButton } from "@/components/as-code";
import { ProblemCard } from "@/components/problem-card";
import { ShownOnce } from "@/components/shown-once";
import classes from "../pages/settings.module.css";
import { passwordRecipe, userRecipe } from "../recipes";
import { AccountFields } from "./account-fields";

export function AddUserModal({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [username, setUsername] = useState("");
  const [role, setRole] = useState<Role>("viewer");
  const create = useMutation({
    mutationFn: () => createUser(username.trim(), role),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: keys.users.all }),
  });
  const { reset } = create;
  useEffect(() => {
    if (!opened) return;
    setUsername("");
    setRole("viewer");
    reset();
  }, [opened, reset]);
  return (
    <Modal opened={opened} onClose={onClose} title={t`Add somebody`} size={480} closeButtonProps={{ "aria-label": t`Close` }}>
      {create.data ? (
        <>
          <ShownOnce text={create.data.password ?? ""} label={t`password`}>
            <Trans>
              <b>{create.data.username}</b> is there. This password is shown only now; it can be changed in the profile.
            </Trans>
          </ShownOnce>
          <div className={classes["actions"]}>
            <Button onClick={onClose}>
              <Trans>Done</Trans>
            </Button>
          </div>
        </>
      ) : (
        <form
          className={classes["tall"]}
          onSubmit={(event) => {
            event.preventDefault();
            create.mutate();
          }}
        >
          <AccountFields label={t`User name`} name={username} role={role} onName={setUsername} onRole={setRole} />
          {create.error ? <ProblemCard error={create.error} title={t`${username} could not be added`} /> : null}
          <div className={classes["actions"]}>
            <AsCodeButton recipe={() => userRecipe(username.trim() || "NAME", role)} />
            <Button variant="default" onClick={onClose}>
              <Trans>Cancel</Trans>
            </Button>
            <Button type="submit" disabled={username.trim() === ""} loading={create.isPending}>
              {username.trim() ? t`Add ${username.trim()}` : t`Add somebody`}
            </Button>
          </div>
        </form>
      )}
    </Modal>
  );
}

export function ResetPasswordModal({ person, onClose }: { person: Person | null; onClose: () => void }) {
  const name = person?.username ?? "";
  const renew = useMutation({ mutationFn: () => resetPassword(name) });
  const { reset } = renew;
  useEffect(reset, [name, reset]);
  return (
    <Modal
      opened={person !== null}
      onClose={onClose}
      title={t`New password for ${name}`}
      size={460}
      closeButtonProps={{ "aria-label": t`Close` }}
    >
      {renew.data ? (
        <ShownOnce text={renew.data.password ?? ""} label={t`password`}>
          <Trans>Shown only now. All sessions of {name} have ended; API tokens go on.</Trans>
        </ShownOnce>
      ) : (
        <p>
          <Trans>The old one stops working, and every browser of {name} is signed out.</Trans>
        </p>
      )}
      {renew.error ? <ProblemCard error={renew.error} title={t`The password stays as it is`} /> : null}
      <div className={classes["actions"]}>
        {renew.data ? (
          <Button onClick={onClose}>
            <Trans>Done</Trans>
          </Button>
        ) : (
          <>
            <AsCodeButton recipe={() => passwordRecipe(name)} />
            <Button variant="default" onClick={onClose}>
              <Trans>Cancel</Trans>
            </Button>
            <Button loading={renew.isPending} onClick={() => renew.mutate()}>
              <Trans>Make a new password</Trans>
            </Button>
          </>
        )}
      </div>
    </Modal>
  );
}
