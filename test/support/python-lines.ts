/** Where Python's `str.splitlines` cuts, and with it httpx. */
const ENDS = new Set('\n\v\f\r\u001c\u001d\u001e\u0085\u2028\u2029');

/** Lines as a client in Python reads them. */
export function pythonLines(text: string): string[] {
  const lines = [''];
  for (const character of text.replaceAll('\r\n', '\n')) {
    if (ENDS.has(character)) lines.push('');
    else lines[lines.length - 1] += character;
  }
  return lines;
}
