/** Whether lists and objects are nested deeper than `levels`: a parser accepts nesting that a serializer then cannot write. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (!isNested(value)) return false;
  if (levels === 0) return true;
  // Every call runs this, and creating a list of the values would cost more than visiting them.
  if (Array.isArray(value)) {
    for (const item of value) if (isNested(item) && isDeeper(item, levels - 1)) return true;
    return false;
  }
  for (const name in value) {
    const item = (value as Readonly<Record<string, unknown>>)[name];
    if (isNested(item) && isDeeper(item, levels - 1)) return true;
  }
  return false;
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null;
