import { scoreOf } from '#core/lib/prompt-guard/guard.ts';
import { type Labelled, loadTexts, train } from './train.ts';

/**
 * `bun test/core/lib/prompt-guard/training/calibrate.ts` prints the scores that `SCORES` of the guard is chosen from. The held-back
 * texts are not read: the training texts are divided into five parts, each repository into one, and the texts of a part are scored
 * by a model that learnt from the others.
 */
const PARTS = 5;
const SHARES = [0.001, 0.002, 0.003, 0.005, 0.01, 0.02];
/** Sources without a repository are divided by text. */
const LOCAL = /^(?:grammar|sluice|written|meta-llama|jailbreak)/;

const hash = (text: string): number =>
  Array.from(text).reduce((sum, sign) => (Math.imul(sum, 31) + (sign.codePointAt(0) ?? 0)) >>> 0, 7);
const partOf = ({ source, text }: Labelled): number => hash(LOCAL.test(source) ? text : source) % PARTS;

const texts = loadTexts();
const scores = Array.from({ length: PARTS }, (_, part) => {
  const model = train(
    texts.filter((one) => partOf(one) !== part),
    3,
  );
  return texts.filter((one) => partOf(one) === part).map((one) => ({ ...one, score: scoreOf(model, one.text, one.field) }));
}).flat();

for (const field of ['text', 'sql', 'template'] as const) {
  const some = scores.filter((one) => one.field === field && !one.source.startsWith('grammar'));
  const scoresOf = (label: Labelled['label']) => some.filter((one) => one.label === label).map(({ score }) => score);
  const [ordinary, attacks] = [scoresOf('benign').sort((one, other) => other - one), scoresOf('injection')];
  process.stdout.write(`${field}: ${ordinary.length} ordinary texts, ${attacks.length} attacks\n`);
  for (const share of SHARES) {
    const threshold = ordinary[Math.floor(ordinary.length * share)] ?? Infinity;
    const recall = attacks.filter((score) => score > threshold).length / attacks.length;
    process.stdout.write(`  ${share * 100} % false alarms from ${threshold.toFixed(2)}, recall ${(100 * recall).toFixed(1)} %\n`);
  }
}
