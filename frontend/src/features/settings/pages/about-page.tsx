/** Stand-in until the page is built. */
export function AboutPage() {
  return <p>AboutPage</p>;
}
