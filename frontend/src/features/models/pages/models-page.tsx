/** Stand-in until the page is built. */
export function ModelsPage() {
  return <p>ModelsPage</p>;
}
