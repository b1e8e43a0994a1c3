-- Orders with their lines as an array of structs: exploded, filtered, transformed and summed.
CREATE TABLE cart (order_id INT, customer STRUCT<name: STRING, city: STRING>, lines ARRAY<STRUCT<sku: STRING, price: DECIMAL(10,2), n: INT>>)
PARTITIONED BY (dt STRING) STORED AS PARQUET;
INSERT INTO cart PARTITION (dt = '2024-10-01')
SELECT 1, named_struct('name', 'Ann', 'city', 'Oslo'),
       array(named_struct('sku', 'a', 'price', CAST(9.99 AS DECIMAL(10,2)), 'n', 2), named_struct('sku', 'b', 'price', CAST(1.50 AS DECIMAL(10,2)), 'n', 10));
INSERT INTO cart PARTITION (dt = '2024-10-01')
SELECT 2, named_struct('name', 'Bo', 'city', CAST(NULL AS STRING)), array(named_struct('sku', 'c', 'price', CAST(100.00 AS DECIMAL(10,2)), 'n', 1));
INSERT INTO cart PARTITION (dt = '2024-10-02')
SELECT 3, named_struct('name', 'Cy', 'city', 'Oslo'), CAST(array() AS ARRAY<STRUCT<sku: STRING, price: DECIMAL(10,2), n: INT>>);

SELECT order_id, customer.name, customer.city, size(lines) AS lines FROM cart ORDER BY order_id;
SELECT c.order_id, line.sku, line.price * line.n AS amount
FROM cart c LATERAL VIEW explode(c.lines) l AS line ORDER BY c.order_id, line.sku;
SELECT order_id, pos, line.sku FROM cart LATERAL VIEW OUTER posexplode(lines) l AS pos, line ORDER BY order_id, pos;
SELECT order_id, transform(lines, x -> x.sku) AS skus, filter(lines, x -> x.n > 1)[0].sku AS first_many FROM cart WHERE order_id = 1;
SELECT order_id, exists(lines, x -> x.price > 50) AS has_dear, aggregate(lines, 0, (total, x) -> total + x.n) AS pieces FROM cart ORDER BY order_id;
SELECT order_id, lines[0].price AS first_price FROM cart WHERE size(lines) > 0 ORDER BY order_id;

CREATE TABLE line_item AS
SELECT order_id, line.sku AS sku, line.price AS price, line.n AS n, dt FROM cart LATERAL VIEW explode(lines) l AS line;
SELECT dt, SUM(price * n) AS revenue, MAX(price) AS dearest FROM line_item GROUP BY dt ORDER BY dt;

SELECT customer.city, COUNT(*) AS orders, sort_array(collect_list(order_id)) AS ids FROM cart GROUP BY customer.city ORDER BY customer.city;
SELECT dt, sort_array(collect_set(customer.name)) AS names FROM cart GROUP BY dt ORDER BY dt;
SELECT order_id FROM cart WHERE array_contains(transform(lines, x -> x.sku), 'c') ORDER BY order_id;
DROP TABLE line_item;
