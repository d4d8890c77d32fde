/**
 * The parts of a statement that a model could read as natural language: comments and string literals. Literals joined by `||` or
 * `+` are one text. Accepts more than any single dialect: `#` and `--` start comments, and `'`, `"` and dollar quotes start
 * strings.
 */
export function languageOf(sql: string): string[] {
  const parts: string[] = [];
  let joined = false;
  let at = 0;
  const comment = (from: number, to: number) => {
    parts.push(sql.slice(from, to));
    joined = false;
  };
  const literal = (text: string) => {
    if (joined && parts.length > 0) parts[parts.length - 1] += text;
    else parts.push(text);
    joined = false;
  };
  while (at < sql.length) {
    const sign = sql[at] ?? '';
    if (sign === '-' && sql[at + 1] === '-') {
      const end = endOf(sql, '\n', at);
      comment(at + 2, end);
      at = end;
    } else if (sign === '#' && /[ \w]/.test(sql.charAt(at + 1))) {
      const end = endOf(sql, '\n', at);
      comment(at + 1, end);
      at = end;
    } else if (sign === '/' && sql[at + 1] === '*') {
      const end = endOf(sql, '*/', at + 2);
      comment(at + 2, end);
      at = end + 2;
    } else if (sign === "'" || sign === '"') {
      const end = endOfQuoted(sql, sign, at + 1);
      literal(sql.slice(at + 1, end).replaceAll(sign + sign, sign));
      at = end + 1;
    } else if (sign === '$') {
      const tag = /^\$[A-Za-z_]{0,32}\$/.exec(sql.slice(at, at + 34))?.[0];
      if (tag === undefined) {
        at += 1;
        continue;
      }
      const end = endOf(sql, tag, at + tag.length);
      literal(sql.slice(at + tag.length, end));
      at = end + tag.length;
    } else {
      if (sign === '|' || sign === '+') joined = true;
      else if (!/\s/.test(sign)) joined = false;
      at += 1;
    }
  }
  return parts.filter((part) => part.trim().length > 2);
}

function endOf(sql: string, mark: string, from: number): number {
  const end = sql.indexOf(mark, from);
  return end < 0 ? sql.length : end;
}

function endOfQuoted(sql: string, quote: string, from: number): number {
  let end = sql.indexOf(quote, from);
  while (end >= 0 && sql[end + 1] === quote) end = sql.indexOf(quote, end + 2);
  return end < 0 ? sql.length : end;
}
