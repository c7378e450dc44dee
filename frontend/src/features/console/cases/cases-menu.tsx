/** Saved cases of the model: open one, save this one, copy its link, delete. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Button, Modal, Popover, Switch, TextInput } from "@mantine/core";
import { IconBookmark, IconChevronDown, IconTrash } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { keys } from "@/api/keys";
import { useRefusal } from "@/api/permissions";
import { toProblem } from "@/api/problem";
import { createTestCase, deleteTestCase, replaceTestCase, testCasesQuery } from "@/api/test-cases";
import type { TestCase, TestCaseInput } from "@/api/types";
import { CopyField } from "@/components/copy";
import { notifyDone, notifyProblem } from "@/components/notify";
import { ProblemCard } from "@/components/problem-card";
import { RefusingButton } from "@/components/refusing-button";
import shared from "../console.module.css";
import classes from "./cases-menu.module.css";

export interface CasesMenuProps {
  endpoint: string;
  model: string;
  /** The case that is open. */
  current: TestCase | null;
  /** What would be saved; null while the inputs cannot be sent. */
  content: (() => Pick<TestCaseInput, "inputs" | "options">) | null;
  onOpen: (id: string | null) => void;
}

export function CasesMenu({ endpoint, model, current, content, onOpen }: CasesMenuProps) {
  const [saving, setSaving] = useState(false);
  const [listed, setListed] = useState(false);
  const refusal = useRefusal("invoke");
  const queryClient = useQueryClient();
  const { data, error } = useQuery(testCasesQuery(model));
  const remove = useMutation({
    mutationFn: deleteTestCase,
    onSuccess: async (_, id) => {
      if (id === current?.id) onOpen(null);
      await queryClient.invalidateQueries({ queryKey: keys.testCases.list(model) });
      notifyDone(t`The test case is deleted`);
    },
    onError: (problem) => notifyProblem(problem, t`The test case could not be deleted`),
  });
  return (
    <>
      <Popover width={300} position="bottom-end" opened={listed} onChange={setListed} trapFocus>
        <Popover.Target>
          <Button
            variant="subtle"
            color="gray"
            leftSection={<IconBookmark size={15} aria-hidden />}
            rightSection={<IconChevronDown size={14} aria-hidden />}
            onClick={() => setListed((old) => !old)}
          >
            {current ? <span className={classes["caseName"]}>{current.name}</span> : t`Cases`}
          </Button>
        </Popover.Target>
        <Popover.Dropdown aria-label={t`Saved cases`} p={6}>
          <Button
            fullWidth
            variant="subtle"
            // A case that is open has a link to copy, which needs no role.
            disabled={content === null || (refusal !== undefined && current === null)}
            title={current === null ? refusal : undefined}
            onClick={() => {
              setListed(false);
              setSaving(true);
            }}
          >
            {current ? t`Save, or copy the link` : t`Save this call`}
          </Button>
          {error ? (
            <p className={classes["caseHint"]}>
              <Trans>The cases could not be loaded: {toProblem(error).title}</Trans>
            </p>
          ) : null}
          {data ? (
            <p className={classes["caseHint"]}>{data.items.length > 0 ? t`Saved for ${model}` : t`Nothing is saved for ${model} yet`}</p>
          ) : null}
          <ul className={classes["caseList"]}>
            {data?.items.map((item) => (
              <li key={item.id} className={classes["caseRow"]}>
                <button
                  type="button"
                  aria-current={item.id === current?.id}
                  onClick={() => {
                    setListed(false);
                    onOpen(item.id);
                  }}
                >
                  {item.name}
                  {item.golden ? (
                    <span className="secondary">
                      {" "}
                      <Trans>golden</Trans>
                    </span>
                  ) : null}
                </button>
                <ActionIcon
                  aria-label={t`Delete the case ${item.name}`}
                  disabled={refusal !== undefined}
                  title={refusal}
                  onClick={() => remove.mutate(item.id)}
                >
                  <IconTrash size={15} />
                </ActionIcon>
              </li>
            ))}
          </ul>
        </Popover.Dropdown>
      </Popover>
      {saving && content ? (
        <SaveCase endpoint={endpoint} model={model} current={current} content={content} onClose={() => setSaving(false)} onSaved={onOpen} />
      ) : null}
    </>
  );
}

interface SaveCaseProps extends Pick<CasesMenuProps, "endpoint" | "model" | "current"> {
  content: NonNullable<CasesMenuProps["content"]>;
  onClose: () => void;
  onSaved: (id: string) => void;
}

function SaveCase({ endpoint, model, current, content, onClose, onSaved }: SaveCaseProps) {
  const [name, setName] = useState(current?.name ?? "");
  const [keeps, setKeeps] = useState(true);
  const golden = current?.golden ? current : null;
  const queryClient = useQueryClient();
  const save = useMutation({
    mutationFn: (replace: string | null) => {
      const kept = golden && keeps ? { expected: golden.expected, tolerance: golden.tolerance } : {};
      const body = { name: name.trim(), model, endpoint, description: current?.description ?? "", ...content(), ...kept };
      return replace === null ? createTestCase(body) : replaceTestCase(replace, body);
    },
    onSuccess: async (saved) => {
      queryClient.setQueryData(keys.testCases.one(saved.id), saved);
      await queryClient.invalidateQueries({ queryKey: keys.testCases.list(model) });
      notifyDone(t`${saved.name} is saved`);
      onSaved(saved.id);
      onClose();
    },
  });
  const sameName = current !== null && name.trim() === current.name;
  const link = current
    ? `${window.location.origin}/test?endpoint=${encodeURIComponent(endpoint)}&preset=${encodeURIComponent(current.id)}`
    : null;
  return (
    <Modal opened onClose={onClose} title={t`Save this call`} size={460} closeButtonProps={{ "aria-label": t`Close` }}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(sameName ? current.id : null);
        }}
      >
        <div className={shared["stack"]}>
          <p className="muted">
            <Trans>Its inputs and options are kept on the server, exactly as they are sent, for everybody who may look here.</Trans>
          </p>
          <TextInput label={t`Name`} value={name} maxLength={100} data-autofocus onChange={(event) => setName(event.currentTarget.value)} />
          {golden ? (
            <Switch
              label={t`Keep the answer that it expects`}
              description={t`It is golden: \`shoal test run\` compares. Not kept, it expects nothing any more.`}
              checked={keeps}
              onChange={(event) => setKeeps(event.currentTarget.checked)}
            />
          ) : null}
          {link ? <CopyField text={link} label={t`link to this case`} /> : null}
          {save.error ? <ProblemCard error={save.error} /> : null}
          <div className={classes["modalActions"]}>
            <Button variant="default" onClick={onClose}>
              <Trans>Cancel</Trans>
            </Button>
            <RefusingButton needs="invoke" type="submit" loading={save.isPending} disabled={name.trim() === ""}>
              {sameName ? t`Replace the saved case` : t`Save`}
            </RefusingButton>
          </div>
        </div>
      </form>
    </Modal>
  );
}
