ALTER TABLE "request_logs" ADD COLUMN "truncated" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "mcp_sessions_client" ON "mcp_sessions" USING btree ("client","last_at");--> statement-breakpoint
CREATE INDEX "request_logs_truncated" ON "request_logs" USING btree ("name","timestamp") WHERE truncated;