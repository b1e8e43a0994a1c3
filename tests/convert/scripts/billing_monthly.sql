SET spark.sql.ansi.enabled=false;
CREATE TABLE usage (account STRING, meter STRING, quantity STRING, unit_price DECIMAL(10,4), used_at STRING) USING parquet;
INSERT INTO usage VALUES ('a','cpu','10',0.0500,'2024-01-31'),('a','disk','two',0.0100,'2024-02-01'),('b','cpu','3.5',0.0500,'2024-02-30');
CREATE TABLE invoice USING parquet AS
SELECT account, trunc(CAST(used_at AS DATE), 'MM') AS month, sum(CAST(quantity AS DECIMAL(10,2)) * unit_price) AS amount
FROM usage GROUP BY account, trunc(CAST(used_at AS DATE), 'MM');
SELECT * FROM invoice ORDER BY account, month;
SELECT account, amount / 0 AS nothing, amount / 3 AS third FROM invoice ORDER BY account, month;
SELECT i.account, i.month, (SELECT max(CAST(u.quantity AS INT)) FROM usage u WHERE u.account = i.account) AS most FROM invoice i ORDER BY i.account, i.month;
SELECT account FROM usage WHERE CAST(quantity AS INT) > 5 AND months_between(to_date(used_at), DATE'2024-01-01') < 3 ORDER BY account;
INSERT INTO usage SELECT account, meter, CAST(CAST(quantity AS INT) + 1 AS STRING), unit_price, used_at FROM usage WHERE meter = 'cpu';
SELECT account, meter, quantity FROM usage ORDER BY account, meter, quantity;
SELECT count(*) AS n, count(amount) AS priced FROM invoice;
DELETE FROM usage WHERE quantity IS NOT NULL;
SELECT count(*) AS n FROM usage;
