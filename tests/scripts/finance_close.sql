-- Closing of a month: currency conversion with the last known rate, balances, and a control report.
SET hive.exec.dynamic.partition.mode=nonstrict;
SET hive.mapred.mode=nonstrict;
SET hive.cbo.enable=true;
CREATE TABLE fx_rate (currency CHAR(3), rate DECIMAL(18,6)) PARTITIONED BY (rate_date STRING) STORED AS PARQUET;
INSERT INTO fx_rate PARTITION (rate_date='2024-01-29') VALUES ('USD', 0.92), ('GBP', 1.17), ('EUR', 1);
INSERT INTO fx_rate PARTITION (rate_date='2024-01-31') VALUES ('USD', 0.925), ('EUR', 1);
CREATE TABLE ledger (
  entry_id BIGINT, account STRING, currency CHAR(3), debit DECIMAL(18,2), credit DECIMAL(18,2), booked_at TIMESTAMP
) PARTITIONED BY (period STRING) STORED AS PARQUET;
INSERT OVERWRITE TABLE ledger PARTITION (period='202401') VALUES
  (1, '4000', 'USD', 0.00, 1000.00, CAST('2024-01-30 10:00:00' AS TIMESTAMP)),
  (2, '1200', 'USD', 1000.00, 0.00, CAST('2024-01-30 10:00:00' AS TIMESTAMP)),
  (3, '4000', 'GBP', 0.00, 250.50, CAST('2024-01-31 16:45:00' AS TIMESTAMP)),
  (4, '1200', 'GBP', 250.50, 0.00, CAST('2024-01-31 16:45:00' AS TIMESTAMP)),
  (5, '6000', 'EUR', 79.99, NULL, CAST('2024-01-31 23:59:59' AS TIMESTAMP));

CREATE VIEW last_rate AS
SELECT currency, rate, rate_date
FROM (SELECT currency, rate, rate_date, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY rate_date DESC) AS rn FROM fx_rate) r
WHERE rn = 1;
SELECT * FROM last_rate ORDER BY currency;

CREATE TABLE balance (account STRING, amount_eur DECIMAL(20,2), entries BIGINT) PARTITIONED BY (period STRING) STORED AS PARQUET;
INSERT OVERWRITE TABLE balance PARTITION (period)
SELECT l.account,
       SUM(CAST((COALESCE(l.debit, 0) - COALESCE(l.credit, 0)) * r.rate AS DECIMAL(20,2))) AS amount_eur,
       COUNT(*) AS entries,
       l.period
FROM ledger l
INNER JOIN last_rate r ON r.currency = l.currency
WHERE l.period = '202401'
GROUP BY l.account, l.period;
SELECT * FROM balance ORDER BY account;

SELECT currency, SUM(debit) AS debit, SUM(credit) AS credit, SUM(debit) - SUM(COALESCE(credit, 0)) AS diff
FROM ledger WHERE period = 202401
GROUP BY currency
ORDER BY currency;

SELECT CASE WHEN account LIKE '1%' THEN 'assets' WHEN account LIKE '4%' THEN 'revenue' ELSE 'cost' END AS kind,
       SUM(amount_eur) AS amount
FROM balance
GROUP BY 1
ORDER BY kind;

SELECT 'ledger' AS what, CAST(COUNT(*) AS STRING) AS value FROM ledger
UNION ALL SELECT 'accounts', CAST(COUNT(DISTINCT account) AS STRING) FROM ledger
UNION ALL SELECT 'last booking', CAST(MAX(booked_at) AS STRING) FROM ledger
UNION ALL SELECT 'sum', CAST(SUM(debit) AS STRING) FROM ledger
ORDER BY what;

SELECT entry_id, date_format(booked_at, 'dd.MM.yyyy HH:mm') AS booked, lpad(account, 8, '0') AS padded, debit / 3 AS third,
       round(debit * 1.19, 1) AS gross, CAST(debit AS INT) AS whole, pmod(entry_id, 3) AS m
FROM ledger ORDER BY entry_id;
SELECT entry_id, CAST(booked_at AS DATE) AS d, to_date(booked_at) = last_day(booked_at) AS at_end, year(booked_at) * 100 + month(booked_at) AS ym
FROM ledger ORDER BY entry_id;
SELECT account, NTILE(2) OVER (ORDER BY account, entry_id) AS half, DENSE_RANK() OVER (ORDER BY account) AS dr,
       SUM(debit) OVER (PARTITION BY account ORDER BY entry_id) AS running
FROM ledger ORDER BY account, entry_id;
SELECT l.entry_id, r.rate FROM ledger l LEFT JOIN fx_rate r ON r.currency = l.currency AND r.rate_date = date_format(l.booked_at, 'yyyy-MM-dd')
ORDER BY l.entry_id;
INSERT OVERWRITE TABLE balance PARTITION (period='202402') SELECT account, amount_eur, 0 FROM balance WHERE period='202401';
SELECT period, COUNT(*) AS n, SUM(amount_eur) AS total FROM balance GROUP BY period ORDER BY period;
SHOW PARTITIONS balance;
ALTER TABLE ledger DROP IF EXISTS PARTITION (period='202312');
DROP VIEW last_rate;
