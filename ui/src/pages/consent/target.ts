/** They run what they carry, in this very page. */
const DANGEROUS = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:', 'filesystem:']);

/** Whether the browser may be led to an answer: the server has checked it; this page looks once more. */
export function isSafeTarget(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  if (DANGEROUS.has(protocol)) return false;
  return protocol !== 'http:' || hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
}
