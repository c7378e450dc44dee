import { Chip } from "@/components/status";
import classes from "../models.module.css";

/** Tags, at most the first `most`; `none` stands where there are none. */
export function TagChips({ tags, most, none = "–" }: { tags: Record<string, string>; most?: number; none?: React.ReactNode }) {
  const found = Object.entries(tags);
  return (
    <span className={classes["chips"]}>
      {found.slice(0, most).map(([key, value]) => (
        <Chip key={key} mono>
          {value ? `${key}=${value}` : key}
        </Chip>
      ))}
      {found.length === 0 ? none : null}
    </span>
  );
}
