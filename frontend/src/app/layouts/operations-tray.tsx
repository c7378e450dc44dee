/** What is under way now, and what ended lately, wherever one is. */
import { t } from "@lingui/core/macro";
import { Trans } from "@lingui/react/macro";
import { ActionIcon, Popover } from "@mantine/core";
import { IconProgress } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { isFinished, operationsQuery } from "@/api/operations";
import { paths } from "@/app/paths";
import { currentStage, operationTitle } from "@/components/operation-titles";
import { Status } from "@/components/status";
import { Time } from "@/components/time";
import classes from "./operations-tray.module.css";
import { useOperationNews } from "./use-operation-news";

const SHOWN = 6;

export function OperationsTray() {
  const [opened, setOpened] = useState(false);
  useOperationNews();
  const { data, error } = useQuery(operationsQuery());
  const running = data?.items.filter((item) => !isFinished(item)) ?? [];
  const shown = [...running, ...(data?.items.filter(isFinished) ?? [])].slice(0, Math.max(SHOWN, running.length));
  const words = running.length === 0 ? t`Operations: none is running` : t`Operations: ${running.length} running`;
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" width={340} shadow="none" trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon
          aria-label={words}
          title={words}
          aria-expanded={opened}
          onClick={() => setOpened((old) => !old)}
          className={classes["button"] ?? ""}
        >
          <IconProgress size={19} stroke={1.7} />
          {running.length > 0 ? (
            <span className={classes["badge"]} aria-hidden>
              {running.length}
            </span>
          ) : null}
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown p={0}>
        <ul className={classes["list"]} aria-label={t`Latest operations`}>
          {shown.map((item) => (
            <li key={item.id}>
              <Link {...paths.operation(item.id)} className={classes["row"]} onClick={() => setOpened(false)}>
                <span className={classes["title"]}>{operationTitle(item)}</span>
                <Status plain state={item.state} />
                <span className="secondary truncate">{currentStage(item) || <Time at={item.finished_at ?? item.created_at} />}</span>
                {isFinished(item) ? null : (
                  <span
                    className={classes["track"]}
                    role="progressbar"
                    aria-label={operationTitle(item)}
                    aria-valuenow={item.percent}
                    aria-valuemin={0}
                    aria-valuemax={100}
                  >
                    <span style={{ width: `${item.percent}%` }} />
                  </span>
                )}
              </Link>
            </li>
          ))}
          {shown.length === 0 ? (
            <li className={classes["none"]}>{error ? t`They could not be loaded` : t`Nothing has been changed yet`}</li>
          ) : null}
        </ul>
        <Link {...paths.operations()} className={classes["all"]} onClick={() => setOpened(false)}>
          <Trans>All operations</Trans>
        </Link>
      </Popover.Dropdown>
    </Popover>
  );
}
