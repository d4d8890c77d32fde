ALTER TABLE "request_logs" ADD COLUMN "canary" text;--> statement-breakpoint
CREATE INDEX "request_logs_canary" ON "request_logs" USING btree ("canary","timestamp") WHERE canary is not null;