/** Has anybody tampered with the log? Walks its chain of hashes, and says what it found. */
import { plural, t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { Button, Modal } from "@mantine/core";
import { IconShieldCheck } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { verifyLog } from "@/api/activity";
import { useRefusal } from "@/api/permissions";
import { CodeBlock, CopyField } from "@/components/copy";
import { ProblemCard } from "@/components/problem-card";
import { Status } from "@/components/status";

export function VerifyLog() {
  const refusal = useRefusal("operate");
  const verify = useMutation({ mutationFn: verifyLog });
  const found = verify.data;
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconShieldCheck size={15} />}
        disabled={refusal !== undefined}
        title={refusal}
        loading={verify.isPending}
        onClick={() => verify.mutate()}
      >
        <Trans>Verify</Trans>
      </Button>
      <Modal
        opened={found !== undefined || verify.error !== null}
        onClose={verify.reset}
        title={t`The chain of the log`}
        size={520}
        closeButtonProps={{ "aria-label": t`Close` }}
      >
        {verify.error ? <ProblemCard error={verify.error} title={t`The log could not be checked`} /> : null}
        {found ? (
          <>
            <Status state={found.ok ? t`Unbroken` : t`Broken`} tone={found.ok ? "ok" : "error"} />
            <p>
              {found.ok
                ? plural(found.sealed, {
                    one: "The only event is as it was written.",
                    other: "# events hold together: none was changed, removed or slipped in.",
                  })
                : found.broken?.kind === "other_key"
                  ? t`It was written under another secret key than the installation has now, so nothing can be said of it.`
                  : t`From here on the log cannot be trusted.`}
              {found.unsealed > 0
                ? ` ${plural(found.unsealed, { one: "# came while it was checked.", other: "# came while it was checked." })}`
                : ""}
            </p>
            {found.broken ? <CodeBlock label={t`where it breaks`} code={JSON.stringify(found.broken, null, 2)} /> : null}
            {found.ok && found.head ? (
              <>
                <p className="secondary">
                  <Trans>The hash of the last event. Kept elsewhere, it shows later that nothing before it changed.</Trans>
                </p>
                <CopyField text={found.head} label={t`hash of the last event`} />
              </>
            ) : null}
          </>
        ) : null}
      </Modal>
    </>
  );
}
