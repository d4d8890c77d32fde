import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { LanguageSupport, StreamLanguage, type StringStream } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import {
  TEMPLATE_FILTERS,
  TEMPLATE_FUNCTIONS,
  TEMPLATE_TAGS,
  templateNames,
  templatePointAt,
} from '#ui/src/features/builder/sql/template.ts';

/** What a template can speak of: names, and what they have. */
export interface TemplateContext {
  readonly names: () => readonly string[];
  readonly members: () => Readonly<Record<string, readonly string[]>>;
}

interface State {
  inside: '' | '}}' | '%}' | '#}';
}

const WORDS = new Set<string>([...TEMPLATE_TAGS, 'in', 'is', 'not', 'and', 'or']);
const ATOMS = new Set(['true', 'false', 'none', 'null']);

const grammar = StreamLanguage.define<State>({
  name: 'template',
  startState: () => ({ inside: '' }),
  token(stream, state) {
    if (state.inside === '') return outside(stream, state);
    if (state.inside === '#}') {
      if (stream.match(/^.*?#\}/)) state.inside = '';
      else stream.skipToEnd();
      return 'comment';
    }
    if (stream.match(state.inside) || stream.match(`-${state.inside}`)) {
      state.inside = '';
      return 'brace';
    }
    return within(stream);
  },
});

function outside(stream: StringStream, state: State): string | null {
  if (stream.match('{#')) {
    state.inside = '#}';
    return 'comment';
  }
  const sign = stream.match(/^\{([{%])-?/);
  if (sign !== null && sign !== true && sign !== false) {
    state.inside = sign[1] === '{' ? '}}' : '%}';
    return 'brace';
  }
  stream.next();
  stream.match(/^[^{]+/);
  return null;
}

function within(stream: StringStream): string | null {
  if (stream.eatSpace()) return null;
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/)) return 'string';
  if (stream.match(/^\d+(?:\.\d+)?/)) return 'number';
  if (stream.match(/^\|\s*\w+/)) return 'typeName';
  const word = stream.match(/^[A-Za-z_]\w*/);
  if (word !== null && word !== true && word !== false) {
    if (WORDS.has(word[0])) return 'keyword';
    return ATOMS.has(word[0]) ? 'atom' : 'variableName';
  }
  stream.next();
  return 'operator';
}

export function templateLanguage(context: TemplateContext): Extension {
  return new LanguageSupport(grammar, [
    grammar.data.of({ autocomplete: (completion: CompletionContext) => complete(completion, context) }),
  ]);
}

function complete(completion: CompletionContext, context: TemplateContext): CompletionResult | null {
  const text = completion.state.doc.toString();
  const point = templatePointAt(text, completion.pos);
  if (point.kind === 'text') return null;
  if (point.from === completion.pos && !completion.explicit && point.kind === 'value') return null;
  const options = candidates(point.kind, point.of ?? '', text, context);
  return options.length === 0 ? null : { from: point.from, options, validFor: /^\w*$/ };
}

const LOOP = ['index', 'index0', 'revindex', 'first', 'last', 'length', 'previtem', 'nextitem'];

function candidates(
  kind: 'filter' | 'member' | 'tag' | 'value',
  of: string,
  text: string,
  context: TemplateContext,
): Completion[] {
  if (kind === 'filter') return TEMPLATE_FILTERS.map((label) => ({ label, type: 'function', detail: 'filter' }));
  if (kind === 'tag') return TEMPLATE_TAGS.map((label) => ({ label, type: 'keyword' }));
  const bound = templateNames(text);
  if (kind === 'member') {
    if (of === 'loop') return LOOP.map((label) => ({ label, type: 'property' }));
    const members = context.members();
    const source = of.startsWith('rows[') || bound.get(of) === 'rows' ? 'row' : of;
    return (members[source] ?? []).map((label) => ({ label, type: 'property' }));
  }
  return [
    ...[...bound.keys()].map((label) => ({ label, type: 'variable', boost: 20 })),
    ...context.names().map((label) => ({ label, type: 'variable', boost: 10 })),
    ...TEMPLATE_FUNCTIONS.map((label) => ({ label, type: 'function' })),
  ];
}
