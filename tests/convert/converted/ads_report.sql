-- Spark
-- rewriter: removed: casts, divisions and calls below return NULL in place of an error by name
-- SET spark.sql.ansi.enabled=false
-- rewriter: removed: what a pattern of times may do otherwise is reported below
-- SET spark.sql.legacy.timeParserPolicy=LEGACY
CREATE TABLE ad_event (campaign STRING, kind STRING, at TIMESTAMP, price STRING) USING parquet;
INSERT INTO ad_event VALUES ('x', 'view', TIMESTAMP'2024-03-01 10:00:00', '0.10'), ('x', 'click', TIMESTAMP'2024-03-01 10:05:00', '0.90'), ('y', 'view', TIMESTAMP'2024-03-02 00:00:00', 'null');
CREATE OR REPLACE TEMP VIEW per_campaign AS
SELECT campaign, count_if(kind = 'view') AS views, count_if(kind = 'click') AS clicks, sum(TRY_CAST(price AS double) /* rewriter: was CAST: what does not fit is NULL */) AS cost FROM ad_event GROUP BY campaign;
SELECT campaign, try_divide(clicks, views) /* rewriter: was /: NULL if the divisor is 0 */ AS ctr, try_divide(cost, clicks) /* rewriter: was /: NULL if the divisor is 0 */ AS cpc FROM per_campaign ORDER BY campaign;
SELECT campaign, cast(cost * 100 AS INT) AS cents, cast(views AS STRING) AS v FROM per_campaign ORDER BY campaign;
SELECT date(at) AS d, hour(at) AS h, unix_timestamp(at) AS u, cast(at AS BIGINT) AS s FROM ad_event ORDER BY at;
SELECT campaign, try_cast(price AS DOUBLE) AS p, coalesce(try_divide(1, TRY_CAST(price AS DOUBLE) /* rewriter: was CAST: what does not fit is NULL */), 0) AS q FROM ad_event ORDER BY at;
CACHE TABLE per_campaign;
UNCACHE TABLE per_campaign;
SELECT try_element_at(split('a,b', ','), 3) /* rewriter: was element_at: an error is NULL */ AS e, get(array(1,2), 5) /* rewriter: was […]: NULL behind the end */ AS a;
-- rewriter: not converted: make_date raises an error for a date that does not exist, where the original is NULL
SELECT campaign, TRY_CAST(CASE WHEN price RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(price, '[.][0-9]*', '0') WHEN price RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(price, '[.][0-9]*', '') ELSE price END AS BIGINT) /* rewriter: was CAST: a text that is no number is NULL */ AS b, make_date(2024, 13, 1) AS m FROM ad_event ORDER BY at;
-- not converted:
-- 15: make_date raises an error for a date that does not exist, where the original is NULL.
