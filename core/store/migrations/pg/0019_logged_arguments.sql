ALTER TABLE "request_logs" ADD COLUMN "arguments" text;--> statement-breakpoint
ALTER TABLE "tools" ADD COLUMN "log_arguments" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "request_logs_arguments" ON "request_logs" USING btree ("timestamp") WHERE arguments > '';