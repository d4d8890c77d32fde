/** The fault of a name of spaces, which a schema takes and which could be seen and found nowhere; for `check` of a form. */
export const blankName = ({ name }: { readonly name: string }): Readonly<Record<string, string>> =>
  /^\s+$/.test(name) ? { name: 'Must not be empty.' } : {};
