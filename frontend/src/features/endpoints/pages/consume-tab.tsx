/** Stand-in until the page is built. */
export function ConsumeTab() {
  return <p>ConsumeTab</p>;
}
