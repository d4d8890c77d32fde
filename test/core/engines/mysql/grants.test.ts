import { expect, test } from 'bun:test';
import { seesTriggers } from '#core/engines/mysql/count.ts';
import { grantsIn } from '#core/engines/mysql/grants.ts';

test('the right to see triggers is read from the lines of SHOW GRANTS', () => {
  const lines = [
    "GRANT USAGE ON *.* TO `a`@`%` IDENTIFIED BY PASSWORD '*94 ON `x`.* TO'",
    'GRANT SELECT, INSERT, TRIGGER ON `shop`.* TO `a`@`%`',
    'GRANT ALL PRIVILEGES ON `my\\_shop%`.* TO `a`@`%`',
    'GRANT SELECT (`trigger`) ON `hidden`.`t` TO `a`@`%`',
    'GRANT SELECT ON `other`.* TO `a`@`%`',
    'GRANT TRIGGER ON `single`.`t` TO `a`@`%`',
  ];
  const sees = seesTriggers(grantsIn(lines));
  const of = (...schemas: string[]) => schemas.map((schema) => sees(schema));
  expect(of('shop', 'SHOP', 'my_shop', 'my_shop_2')).toEqual([true, true, true, true]);
  expect(of('shop2', 'myXshop', 'hidden', 'other', 'single', 'x')).toEqual([false, false, false, false, false, false]);
  const global = grantsIn(['GRANT SELECT, TRIGGER ON *.* TO `a`@`%` WITH GRANT OPTION']);
  expect(seesTriggers(global)('any')).toBe(true);
});
