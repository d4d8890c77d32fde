/**
 * Brings the first field with an error into view and focuses it, once the page shows what was refused.
 * @returns a promise of whether there was one.
 */
export async function focusInvalid(form: ParentNode | null | undefined): Promise<boolean> {
  await Promise.resolve();
  const first = form?.querySelector<HTMLElement>('[aria-invalid=true], .code-editor[data-invalid=true] .code-editor-host');
  // The text of an editor stands in a shadow root, out of reach of the selector above.
  const field = first?.shadowRoot?.querySelector<HTMLElement>('[contenteditable=true]') ?? first;
  field?.focus();
  return field !== undefined && field !== null;
}
