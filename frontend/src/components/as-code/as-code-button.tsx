/** "Show as CLI / API / YAML": `<AsCodeButton recipe={() => drainRecipe(node)} />` beside the action itself. */
import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { IconCode } from "@tabler/icons-react";
import { showAsCode } from "./as-code-store";
import type { Recipe } from "./recipe";

export interface AsCodeButtonProps {
  /** Asked when it is pressed, so that it shows the form's values of that moment. */
  recipe: () => Recipe;
  /** With words beside the icon; otherwise they are the tooltip. */
  wide?: boolean;
}

const WORDS = "Show as CLI / API / YAML";

export function AsCodeButton({ recipe, wide = false }: AsCodeButtonProps) {
  const open = () => showAsCode(recipe());
  if (wide) {
    return (
      <Button variant="default" leftSection={<IconCode size={16} />} onClick={open}>
        {WORDS}
      </Button>
    );
  }
  return (
    <Tooltip label={WORDS}>
      <ActionIcon aria-label={WORDS} onClick={open}>
        <IconCode size={17} stroke={1.7} />
      </ActionIcon>
    </Tooltip>
  );
}
