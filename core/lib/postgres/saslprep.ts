/**
 * Prepares passwords for SCRAM with SASLprep (RFC 4013). Passwords that it refuses are used unchanged, as in PostgreSQL and
 * libpq.
 * The tables are those of RFC 3454, as ranges of code points in base 36: the distance from the end of the previous range, and how
 * many more code points follow.
 */

/** C.1.2: replaced by a space. */
const SPACES = readTable('4g 4bk 1vk.b 10 1c 335');
/** B.1: removed. */
const NOTHING = readTable('4t iq 43b 5.2 1ku.2 2b 17s0.f 6o');
/**
 * A.1 and C.1.2 to C.9: unassigned in Unicode 3.2, control characters, private use, and characters that change the text
 * direction.
 */
const REFUSED = readTable(`
  0.v 2o.x ap j.r 2n.1 1s.g 1t.1 f.f h.3 3.3 2.2 2.4 8 2 l 19 14.8 3s 20 13.1 3.5 h.w 13.1 8 14 3.5 i o b.a s.4 6.m 2.d 2.2 2
  r.4 n.9 3i h.1 g f.1 u.2 s.1g 1f.9a 4 1i.1 j.1 6.2 q.f 4 9.1 3.1 n 8 2.2 5.1 2 8.1 3.1 4.8 2.3 3 6.1 m.6 2.1 7.3 3.1 n 8 3 3
  3.1 2 6.3 3.1 4.a 5 2.6 g.b 4 8 2 4 n 8 3 6.1 b 4 4.1 2.e 2.4 b.g 4 9.1 3.1 n 8 3.1 5.1 9.2 3.1 4.7 3.3 3 4.3 c.g 3 7.2 4 5.2
  3 2 3.2 3.2 4.2 9 4.3 6.2 4 5.8 2.e d.d 4 9 4 o b 6.3 8 4 5.6 3.8 3.3 b.h 3 9 4 o b 6.3 8 4 5.6 3.6 2 3.3 b.h 3 9 4 o h.3 7.1
  4 5.8 2.7 3.3 b.h 3 j.2 p a 2.1 8.2 2.3 7 2 9.h 4.b 1n.3 u.10 3 2.1 3 2.1 2.5 5 8 4 2 2.1 3 e 4.1 6 2 7.1 b.1 3.x 21 z.5 s.3
  9 11 g.1 2.1b z 6 3 8.2 5.5 r.1x 13.9 16.1 2.3 2j.4 1x.4 2b.5 8 1s 2 5.1 8 2 5.1 14 2 5.1 w 2 5.1 8 2 5.1 8 8 o w 2 5.1 8 14
  k.5 t.y 2e.b hj.9 t.2 2a.e e 8.a o.8 l.b e 4 3.b 2m.2 b.l f.1 b.5 2h.7 17.11x 4d.3 2j.5 n.1 7.1 13.1 7.1 9 2 2 2 w.1 1i g f.1
  7 k.1 4 a.g p.7 10.3 2.n 3.1 s.g j.t s.k 1o.1 g.6 1e.b g0.1c 14.o c.k 4g 7p.1 3 2u.1 b.3a 5 5.1 t 10 2 5.2 2 8.1 1h.2 p f.g
  t.3 lt.ov r 2i.b 5z.16 1s 2f.1 2w.4 15.3 2n 15.1j 1a.2 11.c 18.2 26.3 1c 3c.3 2s.1 w 52v.21 g4n.2h we.2 1k.1fc 8md.6l7 8f.1
  1o.44 8.b 6.4 r 6 2 3 3 31.w a6.f 1t.1 1j.13 e.2 h.f 5.b o.1 b k 5.3 6 3s.3 5b.2 7.1 7.1 7.1 4.2 8 8.ls w 5.b s.50 13.1
  13.148h 6v.9 14.2 22.7 2s.f5 2e 20 3.1 2.1 3.1 5 d 2 5 3 1u 5.1 9 8 t 5 6 2.2 8 9f.3 83.3 1f.7wf wyg.g14 f3.jp41`);
/** D.1: if a text contains one of these, all of it must be right-to-left. */
const FROM_RIGHT = readTable(`
  14u 2 3 d.q 6.4 13 4 2.p 6.a z.2 2.2s 8 8.1 k.4 2.d 3 2.q 2c.11 c 4ta 179q 2.9 2.c 2.4 2 2.1 2.1 2.2z y.a2 j.1r 3.1h 15.c
  38.4 2.3q`);

type Table = readonly (readonly [begin: number, end: number])[];

export function preparePassword(password: string): string {
  if (pointsOf(password).every((point) => point < 0x80)) return password;
  const spelt = pointsOf(password)
    .map((point) => (has(SPACES, point) ? 0x20 : point))
    .filter((point) => !has(NOTHING, point));
  const prepared = spelt
    .map((point) => String.fromCodePoint(point))
    .join('')
    .normalize('NFKC');
  return prepared === '' || pointsOf(prepared).some((point) => has(REFUSED, point)) || isMixed(prepared) ? password : prepared;
}

function isMixed(text: string): boolean {
  const letters = pointsOf(text).map((point) => ({
    is_from_right: has(FROM_RIGHT, point),
    is_letter: /\p{L}/u.test(String.fromCodePoint(point)),
  }));
  if (!letters.some(({ is_from_right }) => is_from_right)) return false;
  const is_framed = letters[0]?.is_from_right === true && letters.at(-1)?.is_from_right === true;
  return !is_framed || letters.some(({ is_from_right, is_letter }) => is_letter && !is_from_right);
}

const pointsOf = (text: string): number[] => Array.from(text, (letter) => letter.codePointAt(0) ?? 0);
const has = (table: Table, point: number): boolean => table.some(([begin, end]) => point >= begin && point <= end);

function readTable(text: string): Table {
  let last = 0;
  return text
    .trim()
    .split(/\s+/)
    .map((range) => {
      const [gap = '', more = '0'] = range.split('.');
      const begin = last + Number.parseInt(gap, 36);
      last = begin + Number.parseInt(more, 36);
      return [begin, last];
    });
}
