/** Stand-in until the page is built. */
export function ConsolePage() {
  return <p>ConsolePage</p>;
}
