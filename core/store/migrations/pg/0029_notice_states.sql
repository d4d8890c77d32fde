ALTER TABLE "notice_events" ADD COLUMN "actor_id" text;--> statement-breakpoint
ALTER TABLE "notice_events" ADD COLUMN "key" text;--> statement-breakpoint
ALTER TABLE "notice_events" ADD COLUMN "ended_at" text;--> statement-breakpoint
CREATE UNIQUE INDEX "notice_events_open" ON "notice_events" USING btree ("key") WHERE ended_at is null;