SET hive.enforce.bucketing=true;
CREATE TABLE IF NOT EXISTS product (sku STRING NOT NULL, price STRING, stock STRING, updated DATE/* rewriter: removed , PRIMARY KEY (sku) DISABLE NOVALIDATE: it is not checked here */) STORED AS PARQUET;
INSERT INTO product VALUES ('p1', '9.99', '5', DATE '2024-05-31'), ('p2', 'free', '-0', DATE '2024-06-01'), ('p3', '1,000', '7.', DATE '2024-06-01');
SELECT sku, TRY_CAST(price AS DECIMAL(8,2)) /* rewriter: was CAST: what does not fit is NULL */ AS price, TRY_CAST(CASE WHEN stock RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(stock, '[.][0-9]*', '0') WHEN stock RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(stock, '[.][0-9]*', '') ELSE stock END AS SMALLINT) /* rewriter: was CAST: a text that is no number is NULL */ AS stock FROM product ORDER BY sku;
-- rewriter: not converted: CAST of a text to BOOLEAN is true in Hive for other texts, too: compare the text
SELECT sku, TRY_CAST(price AS FLOAT) /* rewriter: was CAST: what does not fit is NULL */ AS price, boolean(stock) AS any_stock, TRY_CAST(CASE WHEN stock RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(stock, '[.][0-9]*', '0') WHEN stock RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(stock, '[.][0-9]*', '') ELSE stock END AS INT) /* rewriter: was CAST: a text that is no number is NULL */ AS n, TRY_CAST(price AS DOUBLE) /* rewriter: was CAST: what does not fit is NULL */ AS d FROM product ORDER BY sku;
SELECT CAST(updated AS TIMESTAMP) AS t, CAST(updated AS STRING) AS s, cast(sku AS VARCHAR(2)) AS v FROM product ORDER BY s, v;
INSERT OVERWRITE TABLE product /* rewriter: was UPDATE: each row, with its new values */
SELECT sku, CASE WHEN price = 'free' THEN CAST('0' AS string) ELSE price END AS price, stock, updated FROM product;
-- rewriter: not converted: MERGE is not supported
MERGE INTO product AS t USING (SELECT 'p4' AS sku) s ON t.sku = s.sku WHEN NOT MATCHED THEN INSERT (sku) VALUES (s.sku);
TRUNCATE TABLE product;
SELECT count(*) AS n FROM product;
DROP TABLE IF EXISTS product PURGE;
-- not converted:
-- 5: CAST of a text to BOOLEAN is true in Hive for other texts, too: compare the text.
-- 8: MERGE is not supported. Rewrite the partition: INSERT OVERWRITE t SELECT … FROM the new rows UNION ALL SELECT … the old rows that have no new one.
