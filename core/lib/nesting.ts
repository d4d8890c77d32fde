/** Whether lists and objects are nested deeper than so many levels: a parser reads what a serializer then cannot write. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}
