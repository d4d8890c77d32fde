import type { Page } from 'playwright-core';

/** What cannot be read or reached: cut off, over something else, or beside the window. */
export const crowded = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const found = new Set<string>();
    const called = (element: Element) =>
      `${element.tagName.toLowerCase()}.${element.getAttribute('class') ?? ''} “${(element.textContent ?? '').trim().slice(0, 40)}”`;
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) found.add(`the page is ${root.scrollWidth - root.clientWidth} px too wide`);

    const shown = [...document.querySelectorAll<HTMLElement>('body *')].filter(
      (element) =>
        element.checkVisibility({ visibilityProperty: true, opacityProperty: true }) &&
        element.closest('.visually-hidden, .cm-editor, svg, [aria-hidden=true], .flow-canvas, .skip, .log-fields') === null,
    );
    // The lines of each text, as far as the boxes around it show them.
    const lines = shown.flatMap((element) =>
      [...element.childNodes].flatMap((node) => {
        if (node.nodeType !== Node.TEXT_NODE || (node.textContent ?? '').trim() === '') return [];
        const range = document.createRange();
        range.selectNodeContents(node);
        return [...range.getClientRects()].flatMap((line) => {
          let { left, right, top, bottom } = line;
          for (let box: Element | null = element; box !== null; box = box.parentElement) {
            const { overflowX, overflowY, textOverflow, webkitLineClamp } = getComputedStyle(box);
            const edge = box.getBoundingClientRect();
            const cuts = (axis: string) => axis === 'hidden' || axis === 'clip';
            const beside = cuts(overflowX) && textOverflow !== 'ellipsis' && right > edge.right + 2;
            const below = cuts(overflowY) && webkitLineClamp === 'none' && bottom > edge.bottom + 3;
            if (box !== root && (beside || below)) found.add(`cut: ${called(element)}`);
            if (overflowX !== 'visible') [left, right] = [Math.max(left, edge.left), Math.min(right, edge.right)];
            if (overflowY !== 'visible') [top, bottom] = [Math.max(top, edge.top), Math.min(bottom, edge.bottom)];
          }
          return right - left > 1 && bottom - top > 1 ? [{ element, left, right, top, bottom }] : [];
        });
      }),
    );
    const floats = (element: Element) => {
      for (let box: Element | null = element; box !== null; box = box.parentElement)
        if (['fixed', 'sticky'].includes(getComputedStyle(box).position)) return true;
      return false;
    };
    const still = lines.filter(({ element }) => !floats(element)).toSorted((a, b) => a.top - b.top);
    for (const [n, one] of still.entries()) {
      if (one.right > root.clientWidth + 1) found.add(`beside the window: ${called(one.element)}`);
      for (const other of still.slice(n + 1)) {
        if (other.top > one.bottom - 6) break;
        const over = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        if (
          over > 3 &&
          one.element !== other.element &&
          !one.element.contains(other.element) &&
          !other.element.contains(one.element)
        )
          found.add(`over each other: ${called(one.element)} and ${called(other.element)}`);
      }
    }
    return [...found];
  });
