/** Buttons that are off, and say who may, where this person's role does not allow what they do. */
import { Button, type ButtonProps } from "@mantine/core";
import type { LinkProps } from "@tanstack/react-router";
import type { ComponentPropsWithoutRef, ReactNode } from "react";
import { useRefusal } from "@/api/permissions";
import type { Permission } from "@/api/types";
import { LinkButton } from "./link-button";

type RefusingButtonProps = ButtonProps &
  Omit<ComponentPropsWithoutRef<"button">, keyof ButtonProps> & {
    /** What the server asks for: the view's `write_permission`. */
    needs: Permission;
  };

export function RefusingButton({ needs, disabled, title, ...props }: RefusingButtonProps) {
  const refusal = useRefusal(needs);
  return <Button {...props} disabled={disabled === true || refusal !== undefined} title={refusal ?? title} />;
}

interface RefusingLinkProps extends ButtonProps {
  needs: Permission;
  link: LinkProps;
  children: ReactNode;
}

/** `<RefusingLink needs="deploy" link={paths.deploy()}>Deploy a model</RefusingLink>` */
export function RefusingLink({ needs, link, disabled, ...props }: RefusingLinkProps) {
  const refusal = useRefusal(needs);
  return <LinkButton {...link} {...props} disabled={disabled === true || refusal !== undefined} title={refusal} />;
}
