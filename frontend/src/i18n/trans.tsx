/** A text with elements in it. Without a provider around the pages: the language does not change while a page lives. */
import { i18n } from "@lingui/core";
import { TransNoContext, type TransProps } from "@lingui/react/server";

export const Trans = (props: TransProps) => <TransNoContext {...props} lingui={{ i18n }} />;
