/** What can be opened over every page. */
import { makeToggle } from "@/components/toggle";

export const palette = makeToggle();
export const keyHelp = makeToggle();
