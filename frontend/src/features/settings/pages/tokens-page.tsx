/** Stand-in until the page is built. */
export function TokensPage() {
  return <p>TokensPage</p>;
}
