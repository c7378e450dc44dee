/** A colour per class, the same in masks, boxes and legends. Pure. */

export type Colour = readonly [number, number, number];

// The golden angle keeps neighbours in number far apart in hue, however many classes there are.
const TURN = 137.508;
const FIRST_HUE = 211;
const SATURATION = 0.78;
const LIGHTNESS = 0.56;

export function classColour(id: number): Colour {
  const hue = (FIRST_HUE + TURN * Math.abs(Math.trunc(id))) % 360;
  const reach = SATURATION * Math.min(LIGHTNESS, 1 - LIGHTNESS);
  const part = (offset: number) => {
    const k = (offset + hue / 30) % 12;
    return Math.round(255 * (LIGHTNESS - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [part(0), part(8), part(4)];
}

export const cssColour = ([red, green, blue]: Colour): string => `rgb(${red} ${green} ${blue})`;

/** Black or white: whichever reads better on the colour. */
export function inkOn([red, green, blue]: Colour): "#000" | "#fff" {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 130 ? "#000" : "#fff";
}
