import { describe, expect, test } from 'bun:test';
import { qualifiedName } from '#ui/src/features/builder/sql/completion.ts';
import { columnIn, type ForeignKey, withJoin } from '#ui/src/features/builder/sql/joins.ts';
import { asExamples, columnSource, valuesQuery } from '#ui/src/features/builder/values/column-values.ts';
import { expectOf, wholeOf } from '#ui/src/features/tests/expectation.ts';

const key: ForeignKey = {
  table: { schema: 'public', name: 'orders' },
  column: 'customer_id',
  references: { schema: 'public', table: 'customers', column: 'id' },
};
const nameOf = ({ name }: { name: string }) => name;
const joined = (sql: string, of: ForeignKey = key) => withJoin(sql, of, 'postgresql', nameOf);

describe('a join along a foreign key', () => {
  test('comes behind the tables that the statement reads, with the alias that it has for them', () => {
    expect(joined('select * from orders o where o.id = :id order by 1')).toBe(
      'select * from orders o\njoin customers on customers.id = o.customer_id where o.id = :id order by 1',
    );
    expect(joined('select * from "public".orders [[ where id = :id ]] limit 5')).toBe(
      'select * from "public".orders\njoin customers on customers.id = orders.customer_id [[ where id = :id ]] limit 5',
    );
    expect(joined('select * from orders o join items i on i.order_id = o.id and (i.n > 1)')).toBe(
      'select * from orders o join items i on i.order_id = o.id and (i.n > 1)\njoin customers on customers.id = o.customer_id',
    );
  });

  test('goes from the referenced table too', () => {
    expect(joined('select * from customers c;')).toBe('select * from customers c\njoin orders on orders.customer_id = c.id;');
  });

  test('stays inside the query that reads the table', () => {
    expect(joined('with a as (select * from orders) select * from a where true')).toBe(
      'with a as (select * from orders\njoin customers on customers.id = orders.customer_id) select * from a where true',
    );
  });

  test('of a table to itself has another alias', () => {
    const self: ForeignKey = {
      table: { schema: null, name: 'staff' },
      column: 'boss_id',
      references: { schema: null, table: 'staff', column: 'id' },
    };
    expect(joined('select * from staff', self)).toBe('select * from staff\njoin staff as staff_2 on staff_2.id = staff.boss_id');
  });

  test('is not offered where neither or both are read, in other schemas, or in a write', () => {
    expect(joined('select 1')).toBeUndefined();
    expect(joined('select * from orders, customers')).toBeUndefined();
    expect(joined('select * from archive.orders')).toBeUndefined();
    expect(joined('delete from orders where id = :id')).toBeUndefined();
  });
});

test('a column has the alias of its table where the statement reads several', () => {
  const column = (sql: string) => columnIn(sql, { schema: null, name: 'orders' }, 'id', 'sqlite');
  expect(column('select 1 from orders o')).toBe('id');
  expect(column('select 1 from orders o join items i on true')).toBe('o.id');
  expect(column('select 1 from items')).toBe('id');
});

describe('the values of a column', () => {
  test('are read from some of its rows, by the names of the dialect', () => {
    const table = { schema: 'sales', name: 'Orders', in_path: false };
    expect(valuesQuery(table, 'status', 'postgresql')).toBe(
      'select distinct found_value from (select status as found_value from sales."Orders" where status is not null limit 10000) as some_rows order by found_value limit 51',
    );
    expect(qualifiedName({ ...table, in_path: true }, 'mysql')).toBe('Orders');
  });

  test('are values of the type of their parameter, and two of them are examples', async () => {
    const sent: unknown[] = [];
    const reader = {
      call: (async (name: string, input: object) => {
        sent.push(name, input);
        return { rows: [{ found_value: 7 }, { found_value: '8' }, { found_value: 'x' }] };
      }) as never,
      catalog: {
        connection_id: 'c',
        tables: async () => [
          { schema: 'other', name: 'orders', in_path: false },
          { schema: 'public', name: 'orders', in_path: true },
        ],
      } as never,
      dialect: 'postgresql',
    } as const;
    const column = { schema: null, table: 'Orders', name: 'level' };
    const source = columnSource(reader, { type: 'array', items: 'integer' }, column);
    const values = await source?.load();
    expect([source?.name, values]).toEqual(['Orders.level', [7, 8]]);
    expect(sent).toMatchObject(['preview.execute', { connection_id: 'c', limit: 51 }]);
    expect(JSON.stringify(sent)).toContain('from orders where level');
    expect(asExamples([1, 2, 3], { type: 'integer' })).toEqual([1, 2]);
    expect(asExamples([1, 2, 3], { type: 'array' })).toEqual([[1, 2]]);
    expect(columnSource(reader, { type: 'json' }, column)).toBeUndefined();
  });
});

test('a test expects the columns of a result and a row, and values only when its author says so', () => {
  const result = { columns: ['id', 'name'], rows: [{ id: 1, name: 'a' }], truncated: false };
  expect([expectOf(result), wholeOf(result)]).toEqual([{ columns: ['id', 'name'], rows: { min: 1 } }, { whole: result.rows }]);
  expect([expectOf({ ...result, rows: [] }), wholeOf({ ...result, rows: [] })]).toEqual([{ columns: ['id', 'name'] }, {}]);
  expect(wholeOf({ ...result, truncated: true })).toEqual({});
  expect(expectOf({ ...result, columns: [] })).toEqual({});
});
