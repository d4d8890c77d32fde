const SUFFIX = /[_-]?(?:copy(?:[_-]?\d+)?|new|old|v\d+)$/i;

/** What is left of a name without case, plural, order of words and suffixes of copies. */
export function stemOf(name: string): string {
  const bare = name.replace(SUFFIX, '') || name;
  const words = bare
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[_-]+/)
    .filter((word) => word !== '');
  return words.map(singular).toSorted().join('_');
}

function singular(word: string): string {
  if (word.length < 4 || word.endsWith('ss') || word.endsWith('us') || word.endsWith('is')) return word;
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`;
  return word.endsWith('s') ? word.slice(0, -1) : word;
}
