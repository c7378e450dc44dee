/** The endpoints that use something, each leading to its page. */
import { t } from "@lingui/core/macro";
import { Link } from "@tanstack/react-router";
import { paths } from "@/app/paths";
import { Chip } from "@/components/status";
import classes from "../models.module.css";

export function UsedBy({ endpoints, none = t`not used` }: { endpoints: readonly string[]; none?: string }) {
  if (endpoints.length === 0) return <span className="muted">{none}</span>;
  return (
    <span className={classes["chips"]}>
      {endpoints.map((name) => (
        <Link key={name} {...paths.endpoint(name)}>
          <Chip tone="info">{name}</Chip>
        </Link>
      ))}
    </span>
  );
}
