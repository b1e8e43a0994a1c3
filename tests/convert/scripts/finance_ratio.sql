SET spark.sql.ansi.enabled = false;
CREATE TABLE ledger (account STRING, debit DECIMAL(12,2), credit DECIMAL(12,2), units INT, period STRING) USING parquet;
INSERT INTO ledger VALUES ('a', 10.00, 4.00, 2, '2024-01'), ('a', 5.50, 0.00, 0, '2024-02'), ('b', 0.00, 0.00, 0, '2024-01'), ('c', NULL, 3.00, NULL, '2024-13');
SELECT account, period, debit / credit AS ratio, (debit - credit) / units AS per_unit FROM ledger ORDER BY account, period;
SELECT account, round(sum(debit) / sum(credit), 2) AS ratio, sum(debit) / nullif(sum(units), 0) AS safe FROM ledger GROUP BY account ORDER BY account;
SELECT account, 1.0 * credit / debit * 100 AS pct, -units / 2 AS neg, units / -2 AS neg2, CAST(units AS DOUBLE) / units AS one FROM ledger ORDER BY account, period;
WITH m AS (SELECT account, sum(debit) AS d, sum(credit) AS c FROM ledger GROUP BY account)
SELECT account, CASE WHEN c > 0 THEN d / c ELSE c / d END AS x FROM m ORDER BY account;
SELECT period, to_date(concat(period, '-01')) AS first_day, CAST(concat(period, '-01') AS DATE) AS again, date_add(to_date(concat(period, '-01')), 31) AS next FROM ledger ORDER BY period, account;
SELECT account, units % 2 AS odd, mod(10, units) AS m, pmod(-7, 3) AS p, 7 DIV units AS q FROM ledger ORDER BY account, period;
DELETE FROM ledger WHERE debit / credit > 2 OR units = 0;
SELECT * FROM ledger ORDER BY account, period;
SELECT account, sum(units) OVER (PARTITION BY account ORDER BY period) / count(*) OVER (PARTITION BY account) AS moving FROM ledger ORDER BY account;
