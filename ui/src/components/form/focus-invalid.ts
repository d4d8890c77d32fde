/** A fieldset cannot be invalid for assistive technology, so its first control represents it. */
const FAULTY = `[aria-invalid=true], .code-editor[data-invalid=true] .code-editor-host, ${['input', 'button'].map((part) => `fieldset[data-invalid=true] ${part}:not([disabled])`).join()}`;

/** The error of a list that is refused as a whole. */
function sentenceOf(form: ParentNode | null | undefined): HTMLElement | undefined {
  const sentence = form?.querySelector<HTMLElement>('.field-error');
  sentence?.setAttribute('tabindex', '-1');
  return sentence ?? undefined;
}

/**
 * Scrolls to the first field with an error and focuses it, once the errors are shown.
 * @returns a promise of whether there was one.
 */
export async function focusInvalid(form: ParentNode | null | undefined): Promise<boolean> {
  await Promise.resolve();
  // A dialog that the refusal opened has the focus.
  if (form instanceof Element && form.closest('.overlay-place') === null && document.querySelector('.overlay-place'))
    return false;
  const first = form?.querySelector<HTMLElement>(FAULTY) ?? sentenceOf(form);
  if (first !== undefined) focusField(first);
  return first !== undefined;
}

/** Opens the collapsed sections around a field and focuses the field. */
export function focusField(element: HTMLElement): void {
  for (let part: Element | null = element; part !== null; part = part.parentElement) {
    if (part.localName === 'details') part.setAttribute('open', '');
  }
  // The text of an editor is in a shadow root, which a selector cannot reach.
  (element.shadowRoot?.querySelector<HTMLElement>('[contenteditable=true]') ?? element).focus();
}
