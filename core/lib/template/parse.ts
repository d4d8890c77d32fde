import { loadTemplate, type Template } from './evaluate.ts';
import { readAst } from './read.ts';

/** Throws `invalid` with line, column and position for whatever is not in the language (contract section 6). */
export function parseTemplate(text: string): Template {
  return loadTemplate(readAst(text));
}
