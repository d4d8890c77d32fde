/** What `drizzle-kit generate` reads for this dialect. */
module.exports = require('./schema.ts').sqliteSchema;
