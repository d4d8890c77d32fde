const BROWSERS = [
  { word: 'Edge', mark: /\bEdgA?\// },
  { word: 'Opera', mark: /\bOPR\// },
  { word: 'Firefox', mark: /\bFirefox\// },
  { word: 'Chrome', mark: /\b(?:Headless)?Chrome\// },
  { word: 'Safari', mark: /\bSafari\// },
  { word: 'curl', mark: /^curl\// },
  { word: 'Bun', mark: /^Bun\// },
] as const;
const SYSTEMS = [
  { word: 'iPhone', mark: /iPhone/ },
  { word: 'iPad', mark: /iPad/ },
  { word: 'Android', mark: /Android/ },
  { word: 'Windows', mark: /Windows/ },
  { word: 'macOS', mark: /Mac OS X/ },
  { word: 'Linux', mark: /Linux/ },
] as const;

/** What a session is signed in with, from the header that the browser sent: `Chrome on Linux`. */
export function deviceOf(user_agent: string | null): string {
  const agent = user_agent ?? '';
  const browser = BROWSERS.find(({ mark }) => mark.test(agent))?.word;
  const system = SYSTEMS.find(({ mark }) => mark.test(agent))?.word;
  if (browser === undefined) return system ?? (agent === '' ? 'Unknown' : agent.slice(0, 40));
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** Recovery codes as a file to keep. */
export const codesText = (server: string, username: string, codes: readonly string[], iso: string): string =>
  [`Recovery codes of ${username} at ${server}`, `Created on ${iso.slice(0, 10)}. Each works once.`, '', ...codes, ''].join('\n');

/** An SVG document as the address of an image; scripts in it would not run there. */
export const svgAddress = (svg: string): string => `data:image/svg+xml,${encodeURIComponent(svg)}`;

/** A base32 secret in groups of four, to be typed. */
export const inFours = (secret: string): string => secret.replaceAll(/(.{4})(?=.)/g, '$1 ');
