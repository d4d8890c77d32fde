/** Names of the path variables of an operation. */
export const pathVariables = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '');

/** The full path. All paths except health are versioned. */
export const fullPath = (path: string): string => (path === '/health' ? '/api/health' : `/api/v1${path}`);
