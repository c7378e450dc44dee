/** A secret that no second look will show: copy it now. */
import { CopyField } from "./copy";
import classes from "./shown-once.module.css";

export function ShownOnce({ text, label, children }: { text: string; label: string; children: React.ReactNode }) {
  return (
    <div className={classes["box"]} role="status">
      <p>{children}</p>
      <CopyField text={text} label={label} />
    </div>
  );
}
