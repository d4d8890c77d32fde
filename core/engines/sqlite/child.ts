import { writeFileSync } from 'node:fs';
import { type SqliteEngine, openSqliteEngine } from './engine.ts';
import type { SqliteAnswer, SqliteQuestion } from './messages.ts';

/**
 * The program that opens one SQLite file. A statement can only be stopped by ending its process, so the parent kills this one. It
 * answers one question at a time and exits with its parent.
 */
let engine: SqliteEngine | undefined;

try {
  // Statements can build large values. When memory runs out, Linux should kill this process first.
  writeFileSync('/proc/self/oom_score_adj', '1000');
} catch {
  // Only Linux has this file.
}

function answer(question: SqliteQuestion): SqliteAnswer {
  try {
    if (question.ask === 'open') {
      engine = openSqliteEngine(question.path, question.writable);
      return { answer: 'opened' };
    }
    if (!engine) throw new Error('No database file was opened.');
    if (question.ask === 'run') return { answer: 'rows', result: engine.run(question) };
    if (question.ask === 'stream') return { answer: 'streaming', columns: engine.stream(question) };
    if (question.ask === 'part') return { answer: 'part', part: engine.part() };
    if (question.ask === 'describe') return { answer: 'described', statements: engine.describe(question.texts) };
    if (question.ask === 'rollback') {
      engine.rollback();
      return { answer: 'rolled back' };
    }
    engine.commit();
    return { answer: 'committed' };
  } catch (error) {
    return { answer: 'fault', fault: engine?.fault(error) ?? faultOfOpening(error) };
  }
}

function faultOfOpening(error: unknown) {
  const code = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : null;
  return { message: error instanceof Error ? error.message : String(error), code, refused: null };
}

process.on('message', (question: SqliteQuestion) => process.send?.(answer(question)));
process.on('disconnect', () => process.exit(0));
