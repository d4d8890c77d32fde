import { isGuarded } from '#core/contract/definitions/write-guard.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import type { ExecutionResult, QueryPlan } from '#core/query/query.ts';
import type { FrozenConnection, FrozenTool } from '#snapshots/format/format.ts';
import type { ErrorCode } from '#core/errors.ts';
import type { Members, RpcError } from '#mcp-host/protocol/messages.ts';
import type { CallContext } from './context.ts';
import type { FileLinks } from './files/file-links.ts';

/** A definition with a query to run. */
export interface Callable {
  readonly entity: FrozenQuery & { readonly id: string; readonly name: string };
  readonly plan: QueryPlan;
  readonly connection: FrozenConnection;
}

/** A failed call: the text for the caller, and the code for the request log. */
export interface Fault {
  readonly code: ErrorCode;
  readonly text: string;
  /** Whether the caller's arguments are wrong. */
  readonly in_arguments: boolean;
}

/** A call whose result is written. */
export interface AnsweredCall<E> {
  readonly entry: E;
  /** Including those that a person filled in. */
  readonly args: Members;
  readonly context: CallContext;
  readonly files: FileLinks;
  /** Rows of the whole result; null: the answer has only a part of them. */
  readonly whole_rows: number | null;
}

/** Writes the answers to calls of one kind of definition. */
export interface ResultWriter<E extends Callable> {
  readonly kind: 'tool' | 'resource';
  /** The members of the result. @param next the cursor of the next page; null: there is none. */
  readonly members: (
    outcome: ExecutionResult,
    entity: E['entity'],
    context: CallContext,
    next: string | null,
  ) => string | Promise<string>;
  /** Adds notes for this caller alone; several calls may share the members. */
  readonly addNotes: (members: string, call: AnsweredCall<E>) => string;
  /** The members of an answer, or the error to send instead. */
  readonly failure: (fault: Fault, context: CallContext) => string | RpcError;
  /** Returns the tool, if it may ask a person before it runs; else null. */
  readonly asks: (entity: E['entity']) => FrozenTool | null;
}

/** Whether the tool may change only as many rows as are allowed or confirmed. */
export const asksBeforeWriting = (tool: FrozenTool): boolean => tool.mode === 'write' && isGuarded(tool);
