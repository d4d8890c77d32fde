import { writeFileSync } from 'node:fs';
import type { DuckdbEngine } from './engine.ts';
import type { DuckdbAnswer, DuckdbQuestion } from './messages.ts';

/**
 * The program that opens or builds one DuckDB file. Memory and time of a statement can only be limited for a whole process, so
 * the parent limits and kills this one. It answers one question at a time and exits with its parent.
 */
let engine: DuckdbEngine | undefined;

try {
  // When memory runs out, Linux should kill this process first.
  writeFileSync('/proc/self/oom_score_adj', '1000');
} catch {
  // Only Linux has this file.
}

const send = (answer: DuckdbAnswer): void => void process.send?.(answer);

async function answer(question: Exclude<DuckdbQuestion, { ask: 'stop' }>): Promise<DuckdbAnswer> {
  const loaded = await import('./engine.ts').catch((error: unknown) => String(error));
  if (typeof loaded === 'string') return { answer: 'missing', message: loaded };
  try {
    if (question.ask === 'open') {
      engine = await loaded.openDuckdbEngine(question.path);
      return { answer: 'opened', version: engine.version };
    }
    if (question.ask === 'build') {
      const { buildTables } = await import('./files/build.ts');
      return { answer: 'built', tables: await buildTables(question, (step) => send({ answer: 'reading', step })) };
    }
    if (!engine) throw new Error('No database file was opened.');
    if (question.ask === 'run') return { answer: 'rows', result: await engine.run(question) };
    if (question.ask === 'stream') return { answer: 'streaming', columns: await engine.stream(question) };
    if (question.ask === 'part') return { answer: 'part', part: await engine.part() };
    return { answer: 'described', statements: await engine.describe(question.statements) };
  } catch (error) {
    return { answer: 'fault', fault: loaded.faultOf(error) };
  }
}

process.on('message', (question: DuckdbQuestion) => {
  if (question.ask === 'stop') engine?.stop();
  else void answer(question).then(send);
});
process.on('disconnect', () => process.exit(0));
