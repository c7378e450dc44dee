/** What choosing an item of the palette does. Dialogs are those of the pages, with the same questions. */
import type { LinkProps } from "@tanstack/react-router";

export type DeploymentDialogName = "restart" | "pause" | "scale" | "update" | "delete";

export type DialogAct =
  | { dialog: DeploymentDialogName; endpoint: string; deployment: string }
  | { dialog: "traffic"; endpoint: string }
  | { dialog: "regenerate"; endpoint: string; key: "primary" | "secondary" }
  | { dialog: "drain"; node: string };

export type Act =
  | { kind: "go"; link: LinkProps }
  | { kind: "copy"; text: string; what: string }
  | { kind: "dialog"; ask: DialogAct }
  /** At once, as on the page: nothing is lost by it. */
  | { kind: "start"; endpoint: string; deployment: string }
  | { kind: "cordon"; node: string; cordoned: boolean }
  | { kind: "cancel"; operation: string; title: string }
  | { kind: "theme" }
  | { kind: "keys" }
  | { kind: "sign-out" };
