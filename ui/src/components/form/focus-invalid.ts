/** A fieldset has no fault of its own for assistive technology: its first control stands for it. */
const FAULTY = `[aria-invalid=true], .code-editor[data-invalid=true] .code-editor-host, ${['input', 'button'].map((part) => `fieldset[data-invalid=true] ${part}:not([disabled])`).join()}`;

/** The sentence about a list that is refused as a whole. */
function sentenceOf(form: ParentNode | null | undefined): HTMLElement | undefined {
  const sentence = form?.querySelector<HTMLElement>('.field-error');
  sentence?.setAttribute('tabindex', '-1');
  return sentence ?? undefined;
}

/**
 * Brings the first field with an error into view and focuses it, once the page shows what was refused.
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

/** Unfolds what a field stands in, and focuses it. */
export function focusField(element: HTMLElement): void {
  element.closest('details')?.setAttribute('open', '');
  // The text of an editor stands in a shadow root, out of reach of a selector.
  (element.shadowRoot?.querySelector<HTMLElement>('[contenteditable=true]') ?? element).focus();
}
