-- Invoices in decimals: rates of six digits, taxes, discounts and shares.
CREATE TABLE invoice (id BIGINT, net DECIMAL(18,4), discount DECIMAL(5,4), tax DECIMAL(7,6), currency STRING) PARTITIONED BY (month STRING) STORED AS PARQUET;
CREATE TABLE fx (currency STRING, rate DECIMAL(20,10)) STORED AS PARQUET;
INSERT OVERWRITE TABLE fx VALUES ('EUR', 1.0000000000), ('USD', 0.9183467200), ('JPY', 0.0061329571), ('NOK', 0.0857142857);
INSERT OVERWRITE TABLE invoice PARTITION (month = '2024-01') VALUES
  (1, 19999999.9900, 0.1250, 0.190000, 'EUR'), (2, 0.0001, 0.0000, 0.070000, 'USD'), (3, 123456.7800, 0.0333, 0.190000, 'JPY'), (4, -50.0000, 0.0000, 0.250000, 'NOK');
INSERT OVERWRITE TABLE invoice PARTITION (month = '2024-02') VALUES
  (5, 99.9999, 0.9999, 0.000001, 'USD'), (6, NULL, 0.0100, 0.190000, 'EUR'), (7, 7777777.7777, 0.0000, 0.077000, 'JPY');

SELECT id, net * (1 - discount) AS reduced, net * (1 - discount) * (1 + tax) AS gross FROM invoice ORDER BY id;
SELECT id, net * (1 - discount) * (1 + tax) * rate AS euros FROM invoice JOIN fx ON invoice.currency = fx.currency ORDER BY id;
SELECT month, SUM(net * (1 - discount) * (1 + tax)) AS gross, AVG(net) AS mean_net, AVG(CAST(net AS DECIMAL(25,2))) AS mean_wide FROM invoice GROUP BY month ORDER BY month;
SELECT currency, 100.00 * SUM(CASE WHEN discount > 0 THEN net * discount ELSE 0 END) / SUM(net) AS percent FROM invoice GROUP BY currency ORDER BY currency;
SELECT id, net / 3 AS third, net / tax AS per_tax, net % 7 AS rest, ROUND(net / 3, 2) AS rounded FROM invoice WHERE tax > 0 ORDER BY id;
SELECT id, net, SUM(net) OVER (PARTITION BY month ORDER BY id) AS running, net / SUM(net) OVER (PARTITION BY month) AS share FROM invoice ORDER BY id;
SELECT currency, AVG(SUM(net)) OVER () AS mean_of_sums, SUM(net) - AVG(SUM(net)) OVER () AS distance FROM invoice WHERE net IS NOT NULL GROUP BY currency ORDER BY currency;
CREATE TABLE month_total AS
SELECT month, SUM(net * rate) AS euros, COUNT(*) AS invoices FROM invoice JOIN fx ON invoice.currency = fx.currency GROUP BY month;
SELECT month, euros, euros / invoices AS mean, CAST(euros AS DECIMAL(12,2)) AS booked FROM month_total ORDER BY month;
SELECT CAST(SUM(euros) AS STRING) AS total, CAST(CAST(SUM(euros) AS DOUBLE) AS STRING) AS approximate FROM month_total;
SELECT GREATEST(net, 100) AS at_least, COALESCE(net, 0) AS or_zero, ABS(net) AS size, CEIL(net) AS up, FLOOR(net) AS down FROM invoice ORDER BY id;
