/** Stand-in until the page is built. */
export function KeysTab() {
  return <p>KeysTab</p>;
}
