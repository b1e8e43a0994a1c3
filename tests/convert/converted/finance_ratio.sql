-- rewriter: removed: casts, divisions and calls below return NULL in place of an error by name
-- SET spark.sql.ansi.enabled = false
CREATE TABLE ledger (account STRING, debit DECIMAL(12,2), credit DECIMAL(12,2), units INT, period STRING) USING parquet;
INSERT INTO ledger VALUES ('a', 10.00, 4.00, 2, '2024-01'), ('a', 5.50, 0.00, 0, '2024-02'), ('b', 0.00, 0.00, 0, '2024-01'), ('c', NULL, 3.00, NULL, '2024-13');
SELECT account, period, try_divide(debit, credit) /* rewriter: was /: NULL if the divisor is 0 */ AS ratio, try_divide((debit - credit), units) /* rewriter: was /: NULL if the divisor is 0 */ AS per_unit FROM ledger ORDER BY account, period;
SELECT account, round(try_divide(sum(debit), sum(credit)) /* rewriter: was /: NULL if the divisor is 0 */, 2) AS ratio, sum(debit) / nullif(sum(units), 0) AS safe FROM ledger GROUP BY account ORDER BY account;
SELECT account, try_divide(1.0 * credit, debit) /* rewriter: was /: NULL if the divisor is 0 */ * 100 AS pct, -units / 2 AS neg, units / -2 AS neg2, try_divide(CAST(units AS DOUBLE), units) /* rewriter: was /: NULL if the divisor is 0 */ AS one FROM ledger ORDER BY account, period;
WITH m AS (SELECT account, sum(debit) AS d, sum(credit) AS c FROM ledger GROUP BY account)
SELECT account, CASE WHEN c > 0 THEN try_divide(d, c) /* rewriter: was /: NULL if the divisor is 0 */ ELSE try_divide(c, d) /* rewriter: was /: NULL if the divisor is 0 */ END AS x FROM m ORDER BY account;
SELECT period, try_to_date(concat(period, '-01')) /* rewriter: was to_date: an error is NULL */ AS first_day, TRY_CAST(concat(period, '-01') AS DATE) /* rewriter: was CAST: a text that is no time is NULL */ AS again, date_add(try_to_date(concat(period, '-01')) /* rewriter: was to_date: an error is NULL */, 31) AS next FROM ledger ORDER BY period, account;
SELECT account, units % 2 AS odd, try_mod(10, units) /* rewriter: was mod: NULL if the divisor is 0 */ AS m, pmod(-7, 3) AS p, 7 DIV NULLIF(units, 0) /* rewriter: was DIV: NULL if the divisor is 0 */ AS q FROM ledger ORDER BY account, period;
INSERT OVERWRITE TABLE ledger /* rewriter: was DELETE: the table keeps the other rows */
SELECT * FROM ledger WHERE (try_divide(debit, credit) /* rewriter: was /: NULL if the divisor is 0 */ > 2 OR units = 0) IS NOT TRUE;
SELECT * FROM ledger ORDER BY account, period;
SELECT account, try_divide(sum(units) OVER (PARTITION BY account ORDER BY period), count(*) OVER (PARTITION BY account)) /* rewriter: was /: NULL if the divisor is 0 */ AS moving FROM ledger ORDER BY account;
