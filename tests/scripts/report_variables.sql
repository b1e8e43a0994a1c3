-- A report with the month in a variable, as a scheduler sets it.
SET report_month=2024-03;
SET least=2;
CREATE TABLE sale (shop STRING, item STRING, n INT, price DECIMAL(8,2)) PARTITIONED BY (month STRING) STORED AS PARQUET;
INSERT OVERWRITE TABLE sale PARTITION (month = '2024-02') VALUES ('s1', 'tea', 3, 4.50), ('s2', 'tea', 1, 4.60);
INSERT OVERWRITE TABLE sale PARTITION (month = '${report_month}') VALUES ('s1', 'tea', 5, 4.75), ('s1', 'jam', 2, 6.00), ('s2', 'jam', 1, 6.10), ('s3', 'tea', 9, 4.40);

SELECT shop, SUM(n) AS pieces FROM sale WHERE month = '${report_month}' GROUP BY shop ORDER BY shop;
SELECT item, COUNT(*) AS shops FROM sale WHERE month <= '${report_month}' GROUP BY item HAVING COUNT(*) >= ${least} ORDER BY item;

DECLARE VARIABLE threshold DECIMAL(10,2) DEFAULT 20;
SET VAR threshold = (SELECT AVG(n * price) FROM sale WHERE month = '${report_month}');
SELECT shop, item, n * price AS amount FROM sale WHERE month = '${report_month}' AND n * price > threshold ORDER BY shop, item;
DECLARE OR REPLACE VARIABLE best STRING;
SET VAR best = (SELECT max_by(shop, n) FROM sale);
SELECT best AS best_shop, threshold > 10 AS is_high;

CREATE TEMPORARY FUNCTION margin(price DECIMAL(8,2), share DOUBLE) RETURNS DOUBLE RETURN ROUND(price * share, 4);
SELECT shop, item, margin(price, 0.25) AS margin FROM sale WHERE month = '${report_month}' ORDER BY shop, item;
CREATE TEMPORARY FUNCTION month_start(m STRING) RETURNS DATE RETURN to_date(concat(m, '-01'));
SELECT month_start(month) AS starts, SUM(n) AS pieces FROM sale GROUP BY month_start(month) ORDER BY starts;

SELECT COUNT(*) AS n FROM IDENTIFIER('sale') WHERE month = '2024-02';
EXECUTE IMMEDIATE 'SELECT COUNT(*) AS n FROM sale WHERE n >= ?' USING 3;
DROP TEMPORARY VARIABLE threshold;
