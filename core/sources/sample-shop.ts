import { Database } from 'bun:sqlite';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const CATEGORIES = ['books', 'garden', 'kitchen', 'office', 'sports'];
const THINGS = [
  'Atlas',
  'Basket',
  'Candle',
  'Desk lamp',
  'Espresso pot',
  'Field guide',
  'Gloves',
  'Hammock',
  'Ink',
  'Jar',
  'Kettle',
  'Lantern',
];
const PEOPLE = ['Ada', 'Björn', 'Chidi', 'Dalia', 'Emil', 'Fatima', 'Grace', 'Hiro', 'Ines', 'Jonas', 'Kwame', 'Lena'];
const COUNTRIES = ['DE', 'SE', 'NG', 'EG', 'GB', 'JP'];
const STATUSES = ['open', 'shipped', 'shipped', 'shipped', 'cancelled'];

export const SHOP_FILE = 'demo.sqlite';

/** Creates a small shop with sample data, always the same. Writes a draft and renames it, so that no incomplete file is ever opened. */
export function createShop(folder: string): void {
  const file = join(folder, SHOP_FILE);
  if (existsSync(file)) return;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${file}.draft`;
  rmSync(draft, { force: true });
  const db = new Database(draft);
  db.run(
    `create table customers (id integer primary key, name text not null, email text not null unique, country text not null)`,
  );
  db.run(
    `create table products (id integer primary key, name text not null, category text not null, price real not null, in_stock boolean not null)`,
  );
  db.run(
    `create table orders (id integer primary key, customer_id integer not null references customers(id), ordered_on date not null, status text not null, total real not null)`,
  );
  db.run(
    `create table order_items (order_id integer not null references orders(id), product_id integer not null references products(id), quantity integer not null, price real not null, primary key (order_id, product_id))`,
  );
  db.transaction(() => {
    fillShop(db);
  })();
  db.close();
  renameSync(draft, file);
}

function fillShop(db: Database): void {
  const pick = <T>(items: readonly T[], n: number): T => items[n % items.length] as T;
  PEOPLE.forEach((name, n) => {
    const email = `${name
      .normalize('NFD')
      .replaceAll(/[^A-Za-z]/g, '')
      .toLowerCase()}@example.com`;
    db.run('insert into customers values (?, ?, ?, ?)', [n + 1, name, email, pick(COUNTRIES, n)]);
  });
  THINGS.forEach((name, n) => {
    db.run('insert into products values (?, ?, ?, ?, ?)', [
      n + 1,
      name,
      pick(CATEGORIES, n * 3),
      4.5 + n * 3.75,
      n % 4 === 3 ? 0 : 1,
    ]);
  });
  for (let order = 1; order <= 120; order++) {
    const day = new Date(Date.UTC(2026, 0, 1 + order * 2)).toISOString().slice(0, 10);
    const items = [order % 12, (order * 5 + 1) % 12].filter((item, index, all) => all.indexOf(item) === index);
    const total = items.reduce((sum, item, index) => sum + (4.5 + item * 3.75) * (index + 1), 0);
    db.run('insert into orders values (?, ?, ?, ?, ?)', [order, ((order * 7) % 12) + 1, day, pick(STATUSES, order), total]);
    items.forEach((item, index) => {
      db.run('insert into order_items values (?, ?, ?, ?)', [order, item + 1, index + 1, 4.5 + item * 3.75]);
    });
  }
}
