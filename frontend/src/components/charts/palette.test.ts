import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { deploymentStyles } from "./palette";

const CSS = readFileSync(fileURLToPath(new URL("../tokens.css", import.meta.url)), "utf8");

/** The tokens of one scheme, as written in tokens.css. */
function tokens(scheme: "light" | "dark"): Map<string, string> {
  const start = CSS.indexOf(`[data-mantine-color-scheme="${scheme}"] {`);
  const block = CSS.slice(start, CSS.indexOf("}", start));
  return new Map([...block.matchAll(/--([a-z0-9-]+):\s*(#[0-9a-f]{6})/g)].map((match) => [match[1] ?? "", match[2] ?? ""]));
}

type Rgb = [number, number, number];
const linear = (value: number) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const toLinear = (hex: string): Rgb => [1, 3, 5].map((at) => linear(Number.parseInt(hex.slice(at, at + 2), 16) / 255)) as Rgb;

// Machado, Oliveira and Fernandes (2009), full severity, on linear RGB.
const VISION: Record<string, number[][]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function seen(color: Rgb, vision: string): Rgb {
  return (VISION[vision] ?? []).map((row) =>
    Math.min(
      1,
      Math.max(
        0,
        row.reduce((sum, factor, index) => sum + factor * (color[index] ?? 0), 0),
      ),
    ),
  ) as Rgb;
}

function lab([r, g, b]: Rgb): Rgb {
  const xyz = [
    (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047,
    0.2126 * r + 0.7152 * g + 0.0722 * b,
    (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883,
  ].map((value) => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116));
  const [x = 0, y = 0, z = 0] = xyz;
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a: Rgb, b: Rgb) => Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
const luminance = ([r, g, b]: Rgb) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
function contrast(a: string, b: string): number {
  const [high = 0, low = 0] = [luminance(toLinear(a)), luminance(toLinear(b))].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const SERIES = ["s1", "s2", "s3", "s4", "s5", "s6"];

describe.each(["light", "dark"] as const)("the %s palette", (scheme) => {
  const palette = tokens(scheme);
  const color = (name: string): string => {
    const value = palette.get(name);
    if (!value) throw new Error(`tokens.css has no --${name} for ${scheme}`);
    return value;
  };

  test.each(Object.keys(VISION))("keeps every pair of series apart for %s vision", (vision) => {
    const close: string[] = [];
    SERIES.forEach((first, index) => {
      for (const second of SERIES.slice(index + 1)) {
        const delta = distance(lab(seen(toLinear(color(first)), vision)), lab(seen(toLinear(color(second)), vision)));
        if (delta < 12) close.push(`${first}-${second}: ${delta.toFixed(1)}`);
      }
    });
    expect(close).toEqual([]);
  });

  test.each(SERIES)("%s is visible on a card", (name) => {
    expect(contrast(color(name), color("surface"))).toBeGreaterThanOrEqual(3);
  });

  test.each([
    ["ink", "bg"],
    ["ink-2", "surface"],
    ["ink-3", "bg"],
    ["ink-3", "surface-2"],
    ["ok", "ok-bg"],
    ["warn", "warn-bg"],
    ["error", "error-bg"],
    ["info", "info-bg"],
    ["idle", "idle-bg"],
  ])("%s on %s can be read", (text, ground) => {
    expect(contrast(color(text), color(ground))).toBeGreaterThanOrEqual(4.5);
  });

  test.each(["accent", "fill-1", "fill-2"])("white on %s can be read", (name) => {
    expect(contrast("#ffffff", color(name))).toBeGreaterThanOrEqual(4.5);
  });
});

describe("colours of deployments", () => {
  test("blue and green keep their meaning whatever else there is", () => {
    const styles = deploymentStyles(["canary", "green", "blue"]);
    expect(styles.get("blue")).toEqual({ color: "s1" });
    expect(styles.get("green")).toEqual({ color: "s3", dash: [6, 4] });
    expect(styles.get("canary")?.color).toBe("s5");
  });

  test("no two of twelve look the same", () => {
    const names = Array.from({ length: 12 }, (_, index) => `d${index}`);
    const looks = [...deploymentStyles(names).values()].map((style) => JSON.stringify(style));
    expect(new Set(looks).size).toBe(12);
  });

  test("the order of the list does not change a colour", () => {
    expect(deploymentStyles(["b", "a"]).get("a")).toEqual(deploymentStyles(["a", "b"]).get("a"));
  });
});
