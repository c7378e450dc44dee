/** Stand-in until the page is built. */
export function LoginPage() {
  return <p>LoginPage</p>;
}
