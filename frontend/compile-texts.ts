/**
 * Compiles the English texts while the studio is built, so that no browser needs a parser for them: after Lingui's macro
 * has made messages of `t`, `plural` and `Trans`. An apostrophe is an apostrophe; ICU would take it for a quote of the
 * braces behind it.
 */
import { types as babel, type PluginObj } from "@babel/core";
import { compileMessage } from "@lingui/message-utils/compileMessage";

function compiled(text: string): babel.Expression {
  const message = compileMessage(text.replaceAll("'", "''"));
  return babel.valueToNode(Array.isArray(message) ? message : [message]);
}

/** The macro marks what it has made: `/*i18n*\/ { id: "a1b2c3", message: "…" }`. */
const isMade = (node: babel.Node): boolean => node.leadingComments?.some((comment) => comment.value === "i18n") ?? false;

export const compileTexts: PluginObj = {
  visitor: {
    Program: {
      exit(program) {
        program.traverse({
          ObjectExpression({ node }) {
            if (!isMade(node)) return;
            for (const property of node.properties) {
              if (!babel.isObjectProperty(property) || !babel.isIdentifier(property.key, { name: "message" })) continue;
              if (babel.isStringLiteral(property.value)) property.value = compiled(property.value.value);
            }
          },
        });
      },
    },
  },
};
