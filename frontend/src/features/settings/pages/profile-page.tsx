/** Stand-in until the page is built. */
export function ProfilePage() {
  return <p>ProfilePage</p>;
}
