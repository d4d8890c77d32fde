DROP INDEX "history_entity";--> statement-breakpoint
DROP INDEX "history_action";--> statement-breakpoint
ALTER TABLE "history" ADD COLUMN "actor_name" text DEFAULT '' NOT NULL;--> statement-breakpoint
UPDATE "history" SET "actor_name" = coalesce("actor"::json ->> 'name', '') WHERE "actor" !~* '\\u(0000|d[89a-f])';--> statement-breakpoint
CREATE INDEX "history_filters" ON "history" USING btree ("id","entity_type","entity_name","actor_name","action");--> statement-breakpoint
CREATE INDEX "history_name" ON "history" USING btree ("entity_name");--> statement-breakpoint
CREATE INDEX "history_entity" ON "history" USING btree ("entity_id","id","entity_type","entity_name","actor_name","action");--> statement-breakpoint
CREATE INDEX "history_action" ON "history" USING btree ("action","id","entity_type","entity_name","actor_name");