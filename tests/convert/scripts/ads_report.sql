-- Spark
SET spark.sql.ansi.enabled=false;
SET spark.sql.legacy.timeParserPolicy=LEGACY;
CREATE TABLE ad_event (campaign STRING, kind STRING, at TIMESTAMP, price STRING) USING parquet;
INSERT INTO ad_event VALUES ('x', 'view', TIMESTAMP'2024-03-01 10:00:00', '0.10'), ('x', 'click', TIMESTAMP'2024-03-01 10:05:00', '0.90'), ('y', 'view', TIMESTAMP'2024-03-02 00:00:00', 'null');
CREATE OR REPLACE TEMP VIEW per_campaign AS
SELECT campaign, count_if(kind = 'view') AS views, count_if(kind = 'click') AS clicks, sum(cast(price as double)) AS cost FROM ad_event GROUP BY campaign;
SELECT campaign, clicks / views AS ctr, cost / clicks AS cpc FROM per_campaign ORDER BY campaign;
SELECT campaign, cast(cost * 100 AS INT) AS cents, cast(views AS STRING) AS v FROM per_campaign ORDER BY campaign;
SELECT date(at) AS d, hour(at) AS h, unix_timestamp(at) AS u, cast(at AS BIGINT) AS s FROM ad_event ORDER BY at;
SELECT campaign, try_cast(price AS DOUBLE) AS p, coalesce(try_divide(1, cast(price AS DOUBLE)), 0) AS q FROM ad_event ORDER BY at;
CACHE TABLE per_campaign;
UNCACHE TABLE per_campaign;
SELECT element_at(split('a,b', ','), 3) AS e, array(1,2)[5] AS a;
SELECT campaign, bigint(price) AS b, make_date(2024, 13, 1) AS m FROM ad_event ORDER BY at;
