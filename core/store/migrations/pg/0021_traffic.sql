CREATE TABLE "traffic" (
	"seconds" integer NOT NULL,
	"start" text NOT NULL,
	"cells" text NOT NULL,
	"sums" text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX "traffic_key" ON "traffic" USING btree ("seconds","start");