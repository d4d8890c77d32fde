import { createHash } from 'node:crypto';

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; }
main { max-width: 30rem; padding: 2rem 1.5rem; overflow-wrap: anywhere; }
h1 { font-size: 1.375rem; line-height: 1.3; margin: 0 0 0.75rem; }
p { margin: 0 0 0.75rem; }
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** What a person reads when their client cannot be answered: a page, for a redirect might lead anywhere. */
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
<main>
<h1>This client cannot sign in</h1>
<p>${escapeHtml(reason)}</p>
<p>Nothing was shared with the client. An administrator of this server can see the attempt under Sign-in.</p>
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
