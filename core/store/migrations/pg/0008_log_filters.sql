DROP INDEX "request_logs_failed";--> statement-breakpoint
DROP INDEX "request_logs_kind";--> statement-breakpoint
CREATE INDEX "request_logs_failed" ON "request_logs" USING btree ("timestamp","id","error","name","kind","connection_id") WHERE error is not null;--> statement-breakpoint
CREATE INDEX "request_logs_kind" ON "request_logs" USING btree ("kind","timestamp","id","name","connection_id","error") WHERE kind <> 'tool';