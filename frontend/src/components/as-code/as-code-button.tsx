/** "Show as CLI / API / YAML", or what of it there is: `<AsCodeButton recipe={() => drainRecipe(node)} />` beside the action itself. */
import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { IconCode } from "@tabler/icons-react";
import { showAsCode } from "./as-code-store";
import { asCodeWords, type Recipe } from "./recipe";

export interface AsCodeButtonProps {
  /** Asked again when it is pressed, so that it shows the form's values of that moment. */
  recipe: () => Recipe;
  /** With words beside the icon; otherwise they are the tooltip. */
  wide?: boolean;
}

export function AsCodeButton({ recipe, wide = false }: AsCodeButtonProps) {
  const open = () => showAsCode(recipe());
  const words = asCodeWords(recipe());
  if (wide) {
    return (
      <Button variant="default" leftSection={<IconCode size={16} />} onClick={open}>
        {words}
      </Button>
    );
  }
  return (
    <Tooltip label={words}>
      <ActionIcon aria-label={words} onClick={open}>
        <IconCode size={17} stroke={1.7} />
      </ActionIcon>
    </Tooltip>
  );
}
