import { writeFileSync } from 'node:fs';
import { type SqliteEngine, openSqliteEngine } from './engine.ts';
import type { SqliteAnswer, SqliteQuestion } from './messages.ts';

/**
 * The program that holds one SQLite file: nothing can stop a statement inside the process that runs it, so the parent
 * kills this one. It answers one question at a time and ends with its parent.
 */
let engine: SqliteEngine | undefined;

try {
  // A statement may build values as large as the limits let it: when memory runs out, Linux shall end this program first.
  writeFileSync('/proc/self/oom_score_adj', '1000');
} catch {
  // Other systems have no such file.
}

function answer(question: SqliteQuestion): SqliteAnswer {
  try {
    if (question.ask === 'open') {
      engine = openSqliteEngine(question.path, question.writable);
      return { answer: 'opened' };
    }
    if (!engine) throw new Error('No database file was opened.');
    if (question.ask === 'run') return { answer: 'rows', result: engine.run(question) };
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
