/** A link that looks like a button. */
import { Button, type ButtonProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import { type ComponentPropsWithoutRef, forwardRef } from "react";

type Props = ButtonProps & Omit<ComponentPropsWithoutRef<"a">, keyof ButtonProps>;

const Anchor = forwardRef<HTMLAnchorElement, Props>(function Anchor(props, ref) {
  return <Button component="a" ref={ref} {...props} />;
});

/** `<LinkButton {...paths.deploy()}>Deploy a model</LinkButton>` */
export const LinkButton = createLink(Anchor);
