/** Around a picture of points that React draws: the keys of every chart read them one by one, and what they say stands below it. */
import { type ReactNode, useState } from "react";
import { press } from "./chart-keys";
import classes from "./charts.module.css";
import { ReadingStop } from "./reading-stop";

export interface ReadPoint {
  key: string;
  /** All that the picture tells of it. */
  words: string;
}

export interface PointReaderProps {
  title: string;
  /** In the order in which the arrows go. */
  points: readonly ReadPoint[];
  /** Enter on the point that is read. */
  onPick?: (key: string) => void;
  /** `read` is the key of the point that is read. */
  children: (read: string | null) => ReactNode;
}

export function PointReader({ title, points, onPick, children }: PointReaderProps) {
  // why by its key: points that come meanwhile may lie before it.
  const [read, setRead] = useState<string | null>(null);
  const index = points.findIndex(({ key }) => key === read);
  const onPress = (key: string, shift: boolean): boolean => {
    if (key === "Enter") {
      if (!onPick || read === null || index === -1) return false;
      onPick(read);
      return true;
    }
    // why: no point is the newest here, and to the right of nothing lies the first.
    const goes = index === -1 && key === "ArrowRight" ? "Home" : key;
    const at = index === -1 ? null : index;
    const pressed = press({ at, anchor: null }, goes, shift, [...points.keys()]);
    if (!pressed || (pressed.does.kind === "back" && at === null)) return false;
    setRead(pressed.reading.at === null ? null : (points[pressed.reading.at]?.key ?? null));
    return true;
  };
  const picture = children(index === -1 ? null : read);
  if (points.length === 0) return picture;
  return (
    <ReadingStop title={title} className={classes["reader"]} onPress={onPress} onLeave={() => setRead(null)}>
      {picture}
      <p className={classes["readout"]} aria-live="polite">
        {points[index]?.words}
      </p>
    </ReadingStop>
  );
}
