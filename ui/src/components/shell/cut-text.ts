/**
 * Says in full, while the pointer is over it, what an ellipsis cuts off: one listener for every list and table.
 * @returns what ends it.
 */
export function titleCutText(root: Document): () => void {
  const over = (event: PointerEvent) => {
    const element = event.target instanceof HTMLElement ? cutOff(event.target) : undefined;
    if (element === undefined || element.title !== '' || element.closest('[title]') !== null) return;
    element.title = element.textContent.trim();
    // Its text may change, and its width.
    element.addEventListener('pointerleave', () => element.removeAttribute('title'), { once: true });
  };
  root.addEventListener('pointerover', over);
  return () => root.removeEventListener('pointerover', over);
}

/** The nearest element whose text ends in an ellipsis; what is pressed may stand deep inside of it. */
function cutOff(from: HTMLElement): HTMLElement | undefined {
  for (
    let element: HTMLElement | null = from, depth = 0;
    element !== null && depth < 4;
    element = element.parentElement, depth++
  ) {
    if (element.scrollWidth <= element.clientWidth) continue;
    if (getComputedStyle(element).textOverflow === 'ellipsis') return element;
  }
  return undefined;
}
