/** Mantine theme on top of the design tokens: every Mantine colour that shows text or a border is a token. */
import { createTheme, type CSSVariablesResolver, type MantineColorsTuple } from "@mantine/core";
import { DECIMAL_SEPARATOR } from "./digit-groups";

// Ten steps around the accent; 6 is the light fill, 5 the dark fill, both hold white text.
const accent: MantineColorsTuple = [
  "#e8edfc",
  "#cdd8f8",
  "#a3b6f0",
  "#7f9af0",
  "#5878e0",
  "#3f63d3",
  "#3355bf",
  "#2a49a8",
  "#233e91",
  "#1a2444",
];

/** Mantine's own greys, replaced by the tokens: what it does not ask a variable for still fits. */
const dark: MantineColorsTuple = [
  "#e4e9ef",
  "#b0bac6",
  "#919cab",
  "#6b7683",
  "#39434f",
  "#2b3440",
  "#1b222b",
  "#151a21",
  "#0e1216",
  "#0a0d10",
];
const gray: MantineColorsTuple = [
  "#f6f7f9",
  "#f2f4f7",
  "#e1e5ea",
  "#d5dbe2",
  "#cdd4dc",
  "#9aa4b1",
  "#5d6876",
  "#475160",
  "#2c3542",
  "#171c23",
];

const smallControls = { defaultProps: { size: "xs" } } as const;

export const theme = createTheme({
  primaryColor: "accent",
  primaryShade: { light: 6, dark: 5 },
  colors: { accent, dark, gray },
  fontFamily: "var(--font-ui)",
  fontFamilyMonospace: "var(--font-mono)",
  headings: { fontFamily: "var(--font-ui)", fontWeight: "640" },
  fontSizes: { xs: "13px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  lineHeights: { xs: "19px", sm: "19px", md: "20px" },
  spacing: { xs: "8px", sm: "12px", md: "16px", lg: "20px", xl: "28px" },
  radius: { xs: "5px", sm: "6px", md: "8px", lg: "8px", xl: "12px" },
  defaultRadius: "sm",
  cursorType: "pointer",
  respectReducedMotion: true,
  // why plain objects: `Component.extend` would load every one of these components with the shell.
  components: {
    Button: {
      defaultProps: { size: "xs" },
      styles: { root: { height: 30, paddingInline: 12, fontWeight: 550 } },
    },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray", size: 30 } },
    InputWrapper: {
      styles: {
        label: { fontSize: 12, fontWeight: 500, marginBottom: 4 },
        description: { fontSize: 11.5, lineHeight: "16px", marginBottom: 4 },
        error: { fontSize: 12, lineHeight: "16px", marginTop: 4 },
      },
    },
    TextInput: smallControls,
    PasswordInput: smallControls,
    Textarea: smallControls,
    NumberInput: {
      // why both: whoever types a point is understood, whatever the language writes
      defaultProps: { size: "xs", decimalSeparator: DECIMAL_SEPARATOR, allowedDecimalSeparators: [".", ","] },
    },
    Select: { defaultProps: { size: "xs", allowDeselect: false } },
    Switch: { defaultProps: { size: "sm" } },
    SegmentedControl: {
      defaultProps: { size: "xs", withItemsBorders: false },
      styles: {
        root: {
          backgroundColor: "var(--surface-2)",
          boxShadow: "inset 0 0 0 1px var(--line)",
          padding: 2,
          maxWidth: "100%",
          overflowX: "auto",
        },
        indicator: { backgroundColor: "var(--segment)", border: "1px solid var(--line-2)", boxShadow: "none" },
        label: { fontWeight: 550, minHeight: 26, paddingBlock: 3 },
      },
    },
    Tooltip: { defaultProps: { openDelay: 250, transitionProps: { duration: 120 } } },
    // why no placeholder: a menu may hold nothing but its items; so the first of them has the focus when it opens.
    Menu: {
      defaultProps: { shadow: "none", position: "bottom-end", transitionProps: { duration: 120 }, withInitialFocusPlaceholder: false },
    },
    // why the attributes: a dialog's heading must not count as the page's banner.
    Modal: { defaultProps: { centered: true, transitionProps: { duration: 120 }, attributes: { header: { role: "none" } } } },
    Drawer: { defaultProps: { transitionProps: { duration: 120 }, attributes: { header: { role: "none" } } } },
  },
});

const shared = {
  "--mantine-color-body": "var(--surface)",
  "--mantine-color-text": "var(--ink)",
  "--mantine-color-dimmed": "var(--ink-3)",
  "--mantine-color-placeholder": "var(--ink-3)",
  "--mantine-color-default": "var(--surface)",
  "--mantine-color-default-hover": "var(--surface-2)",
  "--mantine-color-default-color": "var(--ink)",
  "--mantine-color-default-border": "var(--line-2)",
  "--mantine-color-disabled": "var(--surface-2)",
  "--mantine-color-disabled-color": "var(--ink-3)",
  "--mantine-color-disabled-border": "var(--line)",
  "--mantine-color-error": "var(--error)",
  "--mantine-color-anchor": "var(--info)",
  "--mantine-color-accent-filled": "var(--accent)",
  "--mantine-color-accent-filled-hover": "var(--accent-hover)",
  "--mantine-color-accent-light": "var(--accent-soft)",
  "--mantine-color-accent-light-hover": "var(--accent-soft)",
  "--mantine-color-accent-light-color": "var(--info)",
  "--mantine-color-accent-text": "var(--info)",
  "--mantine-color-gray-light-color": "var(--ink-2)",
  "--mantine-color-gray-text": "var(--ink-2)",
  "--mantine-color-gray-outline": "var(--ink-2)",
  // why: a menu's item asks for this shade by its number, whatever the scheme.
  "--mantine-color-red-6": "var(--error)",
  "--mantine-color-red-filled": "#b3261e",
  "--mantine-color-red-filled-hover": "#9b201a",
  "--mantine-color-red-light": "var(--error-bg)",
  "--mantine-color-red-light-hover": "var(--error-bg)",
  "--mantine-color-red-light-color": "var(--error)",
  "--mantine-color-red-outline": "var(--error)",
  "--mantine-color-red-text": "var(--error)",
};

export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: shared, dark: shared });
