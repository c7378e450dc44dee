/** The first row of a page, and the document's title. */
import { t } from "@lingui/core/macro";
import { useEffect } from "react";
import classes from "./page-header.module.css";

/** Sets the browser tab's title: `thing · section · Shoal`. */
export function usePageTitle(...parts: string[]): void {
  const title = [...parts, t`Shoal`].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}

export interface PageHeaderProps {
  title: React.ReactNode;
  /** Status chip, URL field and the like, right of the title. */
  beside?: React.ReactNode;
  actions?: React.ReactNode;
  subtitle?: React.ReactNode;
}

export function PageHeader({ title, beside, actions, subtitle }: PageHeaderProps) {
  return (
    <div className={classes["header"]}>
      <div className={classes["row"]}>
        <h1 className={classes["title"]}>{title}</h1>
        {beside}
        {actions ? <div className={classes["actions"]}>{actions}</div> : null}
      </div>
      {subtitle ? <p className={classes["subtitle"]}>{subtitle}</p> : null}
    </div>
  );
}
