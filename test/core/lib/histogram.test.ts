import { expect, test } from 'bun:test';
import { addDuration, type Histogram, mergeInto, sumOfTexts } from '#core/lib/histogram.ts';
import { fc } from '#test/support/chance.ts';

const histograms = fc.array(fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 30 }), { maxLength: 20 });

test('histograms that stand in one text sum up to what they do one by one', () => {
  fc.assert(
    fc.property(histograms, (durations) => {
      const all = durations.map((some) => {
        const histogram: Histogram = {};
        for (const ms of some) addDuration(histogram, ms);
        return histogram;
      });
      const sum: Histogram = {};
      for (const one of all) mergeInto(sum, one);
      expect(sumOfTexts(all.map((one) => JSON.stringify(one)).join(','))).toEqual(sum);
    }),
  );
  expect(sumOfTexts('{},{"12":9007199254740990},{"12":1,"583":2},{}')).toEqual({ '12': 9007199254740991, '583': 2 });
});
