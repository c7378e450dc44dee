import { describe, expect, it } from "vitest";
import { hideAsCode, onAsCode, showAsCode, shownAsCode } from "./as-code-store";
import { curlCommand } from "./curl";
import { asCodeWords, formsOf, type Recipe } from "./recipe";
import { piecesOf } from "./render";
import { shellLine } from "./shell-lines";
import { toYaml } from "./yaml";

describe("shell words", () => {
  it.each([
    [["shoal", "traffic", "digits", "blue=90"], "shoal traffic digits blue=90"],
    [["shoal", "deploy", "my model.onnx"], "shoal deploy 'my model.onnx'"],
    [["echo", "it's"], String.raw`echo 'it'\''s'`],
    [["echo", ""], "echo ''"],
    [["echo", "$HOME;rm"], "echo '$HOME;rm'"],
  ])("%j", (argv, line) => expect(shellLine(argv)).toBe(line));
});

describe("curl", () => {
  it("reads without a method or a body", () => {
    expect(curlCommand({ method: "GET", path: "/api/v1/nodes", query: { limit: 5 } }, "https://host:8080")).toBe(
      `curl -sS \\\n  'https://host:8080/api/v1/nodes?limit=5' \\\n  -H "Authorization: Bearer $SHOAL_TOKEN"`,
    );
  });
  it("quotes the body for the shell", () => {
    const command = curlCommand({ method: "PUT", path: "/api/v1/x", body: { text: "it's" } }, "http://h");
    expect(command).toContain("-X PUT");
    expect(command).toContain(String.raw`"text": "it'\''s"`);
    expect(command).toContain("-H 'Content-Type: application/json'");
  });
});

describe("YAML", () => {
  it("nests, and leaves out what has no value", () => {
    const document = {
      name: "green",
      model: "azureml:resnet:3",
      instance_count: 2,
      note: undefined,
      tags: {},
      gone: null,
      traffic: { blue: 90, green: 10 },
      list: [1, "two", { a: 1, b: [true] }, []],
    };
    expect(toYaml(document)).toBe(
      [
        "name: green",
        "model: azureml:resnet:3",
        "instance_count: 2",
        "tags: {}",
        "gone: null",
        "traffic:",
        "  blue: 90",
        "  green: 10",
        "list:",
        "  - 1",
        "  - two",
        "  - a: 1",
        "    b:",
        "      - true",
        "  - []",
        "",
      ].join("\n"),
    );
  });
  // each would be something else without its quotes
  it.each([["yes"], ["No"], ["null"], ["1.0"], ["2026-01-01"], ["0x1f"], ["a: b"], ["# x"], ["- x"], [""], ["x "], ["@x"], ["*x"]])(
    "quotes %j",
    (text) => expect(toYaml({ a: text })).toBe(`a: ${JSON.stringify(text)}\n`),
  );
  it("keeps the lines of a text", () => {
    expect(toYaml({ config: 'name: "m"\n\nbackend: "x"\n' })).toBe('config: |\n  name: "m"\n\n  backend: "x"\n');
    expect(toYaml({ a: { b: "x\ny" } })).toBe("a:\n  b: |-\n    x\n    y\n");
    expect(toYaml({ a: "  x\ny" })).toBe('a: "  x\\ny"\n');
  });
  it("refuses what JSON does not have", () => expect(() => toYaml({ a: Number.NaN })).toThrow("NaN"));
});

describe("recipes", () => {
  const recipe: Recipe = {
    title: "Set traffic",
    cli: [["shoal", "traffic", "digits", "blue=90"]],
    yaml: [{ name: "digits.yml", document: { name: "digits" } }],
  };
  it("show only the forms that they have", () => expect(formsOf(recipe)).toEqual(["cli", "yaml"]));
  it("name the command that takes the file", () =>
    expect(piecesOf(recipe, "yaml", "http://h").map((piece) => piece.code)).toEqual(["name: digits\n", "shoal apply -f digits.yml"]));
  it("are shown to whoever listens, until they are closed", () => {
    const seen: (string | undefined)[] = [];
    const stop = onAsCode(() => seen.push(shownAsCode()?.title));
    showAsCode(recipe);
    hideAsCode();
    stop();
    showAsCode(recipe);
    hideAsCode();
    expect(seen).toEqual(["Set traffic", undefined]);
  });
});

describe("the button's words", () => {
  const api = [{ method: "POST", path: "/api/v1/x" }] as const;
  it.each([
    [{ title: "t", cli: [["shoal"]], api, yaml: [{ name: "x.yml", document: {} }] }, "Show as CLI / API / YAML"],
    [{ title: "t", cli: [["shoal"]], api }, "Show as CLI / API"],
    [{ title: "t", cli: [], api }, "Show as API"],
  ] as const)("name the forms there are", (recipe, words) => expect(asCodeWords(recipe)).toBe(words));
});
