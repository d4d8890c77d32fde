/** A search is typed anew in a moment. */
const FIELDS = 'input:not([type=search], [type=checkbox], [type=radio], [type=file]), textarea, [contenteditable=true]';

const textOf = (field: Element): string => (field as HTMLInputElement).value ?? field.textContent ?? '';

/** Whether the fields of a surface hold what somebody typed into them. A field that is gone, since it was sent, holds nothing. */
export function createTyped() {
  const before = new Map<Element, string>();
  return {
    /** Of `focusin`, which comes before what is typed. */
    follow: (event: Event): void => {
      const field = event.target instanceof Element ? event.target.closest(FIELDS) : null;
      if (field !== null && !before.has(field)) before.set(field, event.type === 'focusin' ? textOf(field) : '');
    },
    any: (): boolean => [...before].some(([field, text]) => field.isConnected && textOf(field) !== text),
  };
}
