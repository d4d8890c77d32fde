import type { TestedKind } from '#core/contract/definitions/tests.ts';
import { isSent } from '#core/query/arguments.ts';
import { maskedDetail, sqlstateOf } from '#core/query/masked-errors.ts';
import { createPseudonym } from '#core/query/masks.ts';
import { planQuery, runQuery } from '#core/query/query.ts';
import { sessionOf } from '#core/query/session.ts';
import { shape, shapeResource, toToolResult } from '#core/query/shape.ts';
import type { CallFacts } from '#core/query/value-sources.ts';
import { promptScope } from '#core/query/values.ts';
import { typedValues } from '#core/lib/uri-template.ts';
import { renderMessages } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { dialectNamed } from '#core/engines/index.ts';
import type { Json, QueryResult } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import type { FrozenConnection, FrozenPrompt, FrozenResource, FrozenTool } from '#snapshots/format/format.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import type { CalledResult } from './expectations.ts';

/** The frozen definition that a test calls. */
export type TestTarget =
  | { readonly kind: 'tool'; readonly entity: FrozenTool; readonly connection: FrozenConnection }
  | { readonly kind: 'resource'; readonly entity: FrozenResource; readonly connection: FrozenConnection }
  | { readonly kind: 'prompt'; readonly entity: FrozenPrompt };

export interface CallOptions {
  readonly facts: Omit<CallFacts, 'arguments'>;
  readonly source: () => Promise<Source>;
  readonly keys: readonly string[];
  readonly signal: AbortSignal;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Calls a frozen definition as a host does, with its limits, session values, masks and template. Writes are rolled back. */
export async function callTarget(target: TestTarget, args: Arguments, options: CallOptions): Promise<CalledResult> {
  const started = performance.now();
  const elapsed = () => Math.round((performance.now() - started) * 100) / 100;
  try {
    refuseUnknown(target, args);
    const called = target.kind === 'prompt' ? renderPrompt(target.entity, args, options) : await runTarget(target, args, options);
    return { ...called, ms: elapsed(), error: null };
  } catch (error) {
    if (!(error instanceof AppError) || options.signal.aborted) throw error;
    const message = target.kind === 'prompt' ? error.detail : maskedDetail(error, target.entity);
    const failed = { code: error.code, message, sqlstate: sqlstateOf(error) };
    return { ms: elapsed(), error: failed, columns: null, rows: null, results: [], text: message };
  }
}

type Result = Omit<CalledResult, 'ms' | 'error'>;

async function runTarget(
  target: Extract<TestTarget, { readonly connection: FrozenConnection }>,
  args: Arguments,
  { facts: call_facts, source, keys, signal }: CallOptions,
): Promise<Result> {
  const { entity, connection } = target;
  const facts: CallFacts = { ...call_facts, arguments: target.kind === 'resource' ? fromUri(args, entity) : args };
  const plan = planQuery(entity, dialectNamed(entity.statement.dialect));
  const values = await plan.resolve(facts);
  const { result, transformed } = await runQuery(plan, values, {
    source,
    signal,
    facts,
    session: sessionOf(connection, facts),
    pseudonym: createPseudonym(keys),
    rollback: entity.mode === 'write',
  });
  const of_rows = { columns: result.columns.map(({ name }) => name), rows: result.rows };
  if (target.kind === 'resource') {
    const body = shapeResource(result, target.entity.mime_type, transformed);
    const text = 'text' in body ? body.text : body.blob;
    return { ...of_rows, results: [text, ...parsed(text), ...rowsOf(result)], text };
  }
  const { return_type, text_format } = target.entity;
  const shaped = shape(result, return_type, transformed, { text_format });
  const { content } = toToolResult(shaped);
  const text = content.map(textOf).join('\n');
  const { structured } = shaped;
  // An expectation can equal the structured content, or its main member.
  const [main] = structured === null ? [] : Object.values(structured);
  const results: readonly (Json | undefined)[] = structured === null ? [shaped.text ?? text] : [structured, main];
  return { ...of_rows, results: [...results.filter((one) => one !== undefined), ...rowsOf(result)], text };
}

const textOf = (block: ReturnType<typeof toToolResult>['content'][number]): string => {
  if ('text' in block) return block.text;
  if ('data' in block) return block.data;
  const { resource } = block;
  return 'text' in resource ? resource.text : resource.blob;
};

/** Arguments of a resource with the types of its parameters. In a URI, variables are texts. */
function fromUri(args: Arguments, { parameters }: FrozenQuery): Arguments {
  const texts = Object.entries(args).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { ...args, ...typedValues(Object.fromEntries(texts), parameters) };
}

const rowsOf = ({ rows }: QueryResult): readonly Json[] => [rows];

function parsed(text: string): Json[] {
  try {
    return [JSON.parse(text) as Json];
  } catch {
    return [];
  }
}

function renderPrompt(entity: FrozenPrompt, args: Arguments, { facts }: CallOptions): Result {
  const values: Record<string, string> = Object.create(null);
  for (const { name, required, enum: allowed } of entity.arguments) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (value === undefined && required) throw new AppError('invalid', `${name} is required.`);
    if (value !== undefined && typeof value !== 'string') throw new AppError('invalid', `${name} must be a string.`);
    if (value !== undefined && allowed?.includes(value) === false) {
      throw new AppError('invalid', `${name} must be one of ${allowed.join(', ')}.`);
    }
    values[name] = value ?? '';
  }
  const scope = promptScope(values, facts);
  const templates = entity.messages.map(({ role, template }) => ({ role, template: parseTemplate(template) }));
  const messages = renderMessages(templates, scope);
  const text = messages.map((message) => message.text).join('\n');
  return { columns: null, rows: null, results: [messages, ...(messages.length === 1 ? [text] : [])], text };
}

/** Throws for undeclared arguments. A host ignores them, but a test with them was written for another definition. */
function refuseUnknown(target: TestTarget, args: Arguments): void {
  const known = new Set(target.kind === 'prompt' ? target.entity.arguments.map(({ name }) => name) : sentTo(target.entity));
  const unknown = Object.keys(args).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  const names = unknown.map((name) => name.slice(0, 64)).join(', ');
  throw new AppError('invalid', `This ${NOUN[target.kind]} has no argument ${names}.`);
}

const NOUN: Readonly<Record<TestedKind, string>> = { tool: 'tool', resource: 'resource', prompt: 'prompt' };
const sentTo = ({ parameters }: FrozenQuery): string[] => parameters.filter(isSent).map(({ name }) => name);
