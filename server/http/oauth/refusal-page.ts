import { createHash } from 'node:crypto';

/** The styles of the sign-in pages, inline: the server shows a refusal alone, without a script. */
const STYLE = `
:root {
  color-scheme: light dark;
  --canvas: light-dark(oklch(0.978 0.005 215), oklch(0.2 0.016 228));
  --ink: light-dark(oklch(0.25 0.026 232), oklch(0.945 0.008 215));
  --ink-soft: light-dark(oklch(0.43 0.024 228), oklch(0.79 0.016 218));
  --deep: light-dark(oklch(0.295 0.05 222), oklch(0.262 0.042 222));
  --bad: light-dark(oklch(0.51 0.17 25), oklch(0.79 0.12 24));
  --bad-soft: light-dark(oklch(0.958 0.022 22), oklch(0.305 0.055 22));
  font: 0.9375rem/1.5 -apple-system, blinkmacsystemfont, 'Segoe UI', 'Noto Sans', 'Liberation Sans', helvetica, arial, sans-serif;
}
* { box-sizing: border-box; margin: 0; }
body { display: grid; grid-template-rows: auto 1fr; min-height: 100vh; background: var(--canvas); color: var(--ink); }
header { display: flex; gap: 0.75rem; align-items: center; padding: 1.5rem 1rem; background: var(--deep); color: oklch(0.97 0.012 205); font-size: 1.125rem; font-weight: 650; }
header svg { fill: none; stroke-width: 2.6; stroke-linecap: round; }
.posts { stroke: oklch(0.97 0.012 205); }
.gate { fill: oklch(0.85 0.115 85); }
.water { stroke: oklch(0.74 0.11 208); }
main { display: grid; gap: 1rem; align-content: start; justify-self: center; width: 100%; max-width: 28rem; padding: 3rem 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -0.015em; text-wrap: balance; }
.reason { padding: 0.75rem 1rem; border-radius: 8px; background: var(--bad-soft); color: var(--bad); }
.soft { color: var(--ink-soft); }
@media (width >= 56rem) {
  body { grid-template: 1fr / minmax(20rem, 2fr) 3fr; }
  header { align-self: stretch; align-items: start; padding: 2rem; }
  main { align-content: center; }
}
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** The answer to a request of a client that cannot be redirected, because the redirect might lead anywhere. */
export function refusalPage(reason: string, status: number): Response {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign-in failed · Sluice</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<svg width="26" height="26" viewBox="3 4 26 24" aria-hidden="true"><path class="posts" d="M9 6v20M23 6v20"/><path class="gate" d="M12.5 7h7v7.2h-7z"/><path class="water" d="M4 20.5q3-3 6 0t6 0 6 0 6 0"/></svg>
Sluice
</header>
<main>
<h1>This client cannot sign in</h1>
<p class="reason">${escapeHtml(reason)}</p>
<p class="soft">Nothing was shared with the client. Close this tab and try again from the client. An administrator of this server can see the attempt under Sign-in.</p>
</main>
</body>
</html>
`;
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    },
  });
}

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
