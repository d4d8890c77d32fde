SELECT setval('mcp_sessions_id_seq', 2147483647) FROM "mcp_sessions_id_seq" WHERE last_value > 2147483647;--> statement-breakpoint
SELECT setval('usage_callers_id_seq', 2147483647) FROM "usage_callers_id_seq" WHERE last_value > 2147483647;--> statement-breakpoint
ALTER TABLE "mcp_sessions" ALTER COLUMN "id" SET MAXVALUE 2147483647;--> statement-breakpoint
ALTER TABLE "mcp_sessions" ALTER COLUMN "id" SET CYCLE;--> statement-breakpoint
ALTER TABLE "usage_callers" ALTER COLUMN "id" SET MAXVALUE 2147483647;--> statement-breakpoint
ALTER TABLE "usage_callers" ALTER COLUMN "id" SET CYCLE;