/** The drawer that says an action in the words of the command line, the REST API and a file. Mounted once, by the shell. */
import { t } from "@lingui/core/macro";
import { Drawer } from "@mantine/core";
import { useState, useSyncExternalStore } from "react";
import { CodeBlock } from "../copy";
import { Segmented } from "../segmented";
import classes from "./as-code.module.css";
import { hideAsCode, onAsCode, shownAsCode } from "./as-code-store";
import { type Form, formsOf, type Recipe } from "./recipe";
import { piecesOf } from "./render";

const FORM_KEY = "shoal.as-code";
const NAMES: Record<Form, string> = { cli: "CLI", api: "REST API", yaml: "YAML" };
const HELP: Record<Form, string> = {
  cli: t`On this machine the command line finds the installation by itself; elsewhere run shoal login first.`,
  api: t`SHOAL_TOKEN is an API token: make one under Settings, API tokens.`,
  yaml: t`Files describe what should be; applying one twice changes nothing.`,
};

/** The form chosen last, if this action has it. */
function startForm(recipe: Recipe): Form | undefined {
  const forms = formsOf(recipe);
  const last = localStorage.getItem(FORM_KEY);
  return forms.find((form) => form === last) ?? forms[0];
}

function Body({ recipe }: { recipe: Recipe }) {
  const forms = formsOf(recipe);
  const [form, setForm] = useState(() => startForm(recipe));
  if (form === undefined) return <p>{t`This action has no other form.`}</p>;
  const choose = (next: Form) => {
    localStorage.setItem(FORM_KEY, next);
    setForm(next);
  };
  return (
    <div className={classes["body"]}>
      <p className={classes["title"]}>{recipe.title}</p>
      {forms.length > 1 ? (
        <Segmented
          label={t({ message: "Form", context: "of an action" })}
          value={form}
          options={forms.map((value) => ({ value, label: NAMES[value] }))}
          onChange={choose}
        />
      ) : null}
      {piecesOf(recipe, form, window.location.origin).map((piece) => (
        <div key={piece.label}>
          {piece.caption ? <p className={`${classes["caption"]} mono`}>{piece.caption}</p> : null}
          <CodeBlock code={piece.code} label={piece.label} />
        </div>
      ))}
      <p className={classes["help"]}>{HELP[form]}</p>
    </div>
  );
}

export default function AsCodeDrawer() {
  const recipe = useSyncExternalStore(onAsCode, shownAsCode);
  return (
    <Drawer
      opened={recipe !== null}
      onClose={hideAsCode}
      position="right"
      size={560}
      zIndex={320}
      title={t`Show as code`}
      closeButtonProps={{ "aria-label": t`Close` }}
    >
      {recipe ? <Body recipe={recipe} /> : null}
    </Drawer>
  );
}
