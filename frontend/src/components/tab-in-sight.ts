/** Where a row has to be scrolled to, so that the tab stands in its middle. */
export function middleOf(row: { offsetLeft: number; clientWidth: number }, tab: { offsetLeft: number; offsetWidth: number }): number {
  return Math.max(0, tab.offsetLeft - row.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2);
}
