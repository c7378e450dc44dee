/** Copying: a button, and a value shown in mono with its button. */
import { t } from "@lingui/core/macro";
import { ActionIcon, Button } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import classes from "./copy.module.css";

/** Plain HTTP pages on other hosts have no clipboard API, so there is a second way. */
export async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard && window.isSecureContext) {
    await navigator.clipboard.writeText(text);
    return;
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.style.position = "fixed";
  area.style.opacity = "0";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function useCopied(): [boolean, (text: CopyButtonProps["text"]) => void] {
  const [copied, setCopied] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = (text: CopyButtonProps["text"]) => {
    void writeClipboard(typeof text === "string" ? text : text()).then(() => {
      setCopied(true);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => setCopied(false), 1500);
    });
  };
  return [copied, copy];
}

export interface CopyButtonProps {
  /** A function where the text is long: it is written when it is asked for. */
  text: string | (() => string);
  /** What is copied, for the accessible name: "scoring URL". */
  label: string;
  /** With words beside the icon. */
  wide?: boolean;
}

export function CopyButton({ text, label, wide = false }: CopyButtonProps) {
  const [copied, copy] = useCopied();
  const icon = copied ? <IconCheck size={16} color="var(--ok)" /> : <IconCopy size={16} />;
  if (wide) {
    return (
      <Button variant="default" leftSection={icon} onClick={() => copy(text)} aria-label={t`Copy ${label}`}>
        {copied ? t`Copied` : t`Copy`}
      </Button>
    );
  }
  return (
    <ActionIcon onClick={() => copy(text)} aria-label={copied ? t`Copied ${label}` : t`Copy ${label}`} title={t`Copy ${label}`}>
      {icon}
    </ActionIcon>
  );
}

export interface CopyFieldProps {
  text: string;
  label: string;
  /** A short word before the value: POST, gRPC. */
  prefix?: string;
}

export function CopyField({ text, label, prefix }: CopyFieldProps) {
  return (
    <div className={classes["field"]}>
      {prefix ? <span className={classes["prefix"]}>{prefix}</span> : null}
      <span className={`${classes["value"]} mono truncate`} title={text}>
        {text}
      </span>
      <CopyButton text={text} label={label} />
    </div>
  );
}

export interface CodeBlockProps {
  code: string;
  label: string;
}

/** Code to read and copy, scrolling in its own box. */
export function CodeBlock({ code, label }: CodeBlockProps) {
  return (
    <div className={classes["block"]}>
      {/* why tabIndex: a box that scrolls must be reachable with the keyboard. */}
      <pre className="mono" tabIndex={0} aria-label={label} role="region">
        {code}
      </pre>
      <div className={classes["corner"]}>
        <CopyButton text={code} label={label} />
      </div>
    </div>
  );
}
