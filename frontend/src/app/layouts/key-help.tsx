/** The keys, shown by `?`. */
import { t } from "@lingui/core/macro";
import { Kbd, Modal } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { SHORTCUTS } from "@/components/shortcuts";
import classes from "./key-help.module.css";
import { keyHelp } from "./toggles";

export default function KeyHelp() {
  const opened = useSyncExternalStore(keyHelp.subscribe, keyHelp.isOpen);
  return (
    <Modal
      opened={opened}
      onClose={keyHelp.close}
      title={t({ message: "Keys", context: "of a keyboard" })}
      size={420}
      closeButtonProps={{ "aria-label": t`Close` }}
    >
      <dl className={classes["keys"]}>
        {SHORTCUTS.map(([keys, what]) => (
          <div key={what}>
            <dt>
              {keys.split(" ").map((key, index) => (
                <Kbd key={index}>{key}</Kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Modal>
  );
}
