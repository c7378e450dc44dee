/** Fails where a catalogue lacks a text of the code, keeps one that is gone, or fills in other values than the English does. */
import { getCatalogs } from "@lingui/cli/api";
import { getConfig } from "@lingui/conf";
import { compileMessage } from "@lingui/message-utils/compileMessage";

/** Names of the values and elements of a text, those within its plurals included. */
function filledIn(text) {
  const names = new Set([...text.matchAll(/<(\d+)\/?>/g)].map((match) => match[0]));
  const walk = (tokens) => {
    if (!Array.isArray(tokens)) return;
    for (const token of tokens) {
      if (!Array.isArray(token)) continue;
      names.add(token[0]);
      for (const form of Object.values(token[2] ?? {})) walk(form);
    }
  };
  walk(compileMessage(text));
  return [...names].sort().join(" ");
}

const config = getConfig();
const problems = [];
for (const catalog of await getCatalogs(config)) {
  const wanted = await catalog.collect();
  if (!wanted) throw new Error("The texts could not be read from the code: see above.");
  for (const locale of config.locales) {
    const held = (await catalog.read(locale)) ?? {};
    for (const [id, { message }] of Object.entries(wanted)) {
      const translation = held[id]?.translation ?? "";
      if (translation === "") problems.push(`${locale}: nothing for "${message}"`);
      // why doubled: in the code an apostrophe is one (compile-texts.ts), in a catalogue it quotes.
      else if (filledIn(message.replaceAll("'", "''")) !== filledIn(translation))
        problems.push(`${locale}: other values in "${translation}" than in "${message}"`);
    }
    for (const [id, { message }] of Object.entries(held))
      if (!wanted[id]) problems.push(`${locale}: "${message ?? id}" is no longer in the code`);
  }
}
for (const problem of problems) process.stdout.write(`${problem}\n`);
if (problems.length > 0) {
  process.stdout.write(`${problems.length} texts: run \`npm run texts\`, then translate what is empty in src/i18n/catalogues.\n`);
  process.exitCode = 1;
}
