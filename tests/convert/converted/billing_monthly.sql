-- rewriter: removed: casts, divisions and calls below return NULL in place of an error by name
-- SET spark.sql.ansi.enabled=false
CREATE TABLE usage (account STRING, meter STRING, quantity STRING, unit_price DECIMAL(10,4), used_at STRING) USING parquet;
INSERT INTO usage VALUES ('a','cpu','10',0.0500,'2024-01-31'),('a','disk','two',0.0100,'2024-02-01'),('b','cpu','3.5',0.0500,'2024-02-30');
CREATE TABLE invoice USING parquet AS
SELECT account, trunc(TRY_CAST(used_at AS DATE) /* rewriter: was CAST: a text that is no time is NULL */, 'MM') AS month, sum(TRY_CAST(quantity AS DECIMAL(10,2)) /* rewriter: was CAST: what does not fit is NULL */ * unit_price) AS amount
FROM usage GROUP BY account, trunc(TRY_CAST(used_at AS DATE) /* rewriter: was CAST: a text that is no time is NULL */, 'MM');
SELECT * FROM invoice ORDER BY account, month;
SELECT account, try_divide(amount, 0) /* rewriter: was /: NULL if the divisor is 0 */ AS nothing, amount / 3 AS third FROM invoice ORDER BY account, month;
SELECT i.account, i.month, (SELECT max(TRY_CAST(CASE WHEN u.quantity RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(u.quantity, '[.][0-9]*', '0') WHEN u.quantity RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(u.quantity, '[.][0-9]*', '') ELSE u.quantity END AS INT) /* rewriter: was CAST: a text that is no number is NULL */) AS `max(CAST(quantity AS INT))` FROM usage u WHERE u.account = i.account) AS most FROM invoice i ORDER BY i.account, i.month;
SELECT account FROM usage WHERE TRY_CAST(CASE WHEN quantity RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(quantity, '[.][0-9]*', '0') WHEN quantity RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(quantity, '[.][0-9]*', '') ELSE quantity END AS INT) /* rewriter: was CAST: a text that is no number is NULL */ > 5 AND months_between(try_to_date(used_at) /* rewriter: was to_date: an error is NULL */, DATE'2024-01-01') < 3 ORDER BY account;
INSERT INTO usage SELECT account, meter, CAST(TRY_CAST(CASE WHEN quantity RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(quantity, '[.][0-9]*', '0') WHEN quantity RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(quantity, '[.][0-9]*', '') ELSE quantity END AS INT) /* rewriter: was CAST: a text that is no number is NULL */ + 1 AS STRING), unit_price, used_at FROM usage WHERE meter = 'cpu';
SELECT account, meter, quantity FROM usage ORDER BY account, meter, quantity;
SELECT count(*) AS n, count(amount) AS priced FROM invoice;
INSERT OVERWRITE TABLE usage /* rewriter: was DELETE: the table keeps the other rows */
SELECT * FROM usage WHERE (quantity IS NOT NULL) IS NOT TRUE;
SELECT count(*) AS n FROM usage;
