export interface Case {
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'skipped';
}

/** The test cases of a JUnit report as Bun writes it, by file. */
export function parseJunit(xml: string): Map<string, Case[]> {
  const files = new Map<string, Case[]>();
  for (const [, attributes = '', body = ''] of xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const file = attribute(attributes, 'file').replace(/^\.\//, '');
    const name = [attribute(attributes, 'classname'), attribute(attributes, 'name')].filter(Boolean).join(' › ');
    const status = /<(failure|error)\b/.test(body) ? 'failed' : /<skipped\b/.test(body) ? 'skipped' : 'passed';
    files.set(file, [...(files.get(file) ?? []), { name, status }]);
  }
  return files;
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
  return value.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code?: string, entity?: string) =>
    code === undefined ? (ENTITIES[entity ?? ''] ?? whole) : String.fromCodePoint(Number(code)),
  );
}
