import { loadTemplate, type Template } from './evaluate.ts';
import { readAst } from './read.ts';

/** Parses and compiles a template. Throws `invalid` with line, column and position for syntax that is not supported. */
export function parseTemplate(text: string): Template {
  return loadTemplate(readAst(text));
}
