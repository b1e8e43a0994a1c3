-- Queries as analysts write them over the tables of TPC-H and hits, in the styles of TPC-DS, dbt, Superset and Metabase.
-- ds 1: an average of a sum over a window
SELECT * FROM (SELECT p_mfgr, p_brand, sum(l_extendedprice) AS sales,
    avg(sum(l_extendedprice)) OVER (PARTITION BY p_mfgr) AS average
  FROM lineitem JOIN part ON l_partkey = p_partkey WHERE year(l_shipdate) = 1995 GROUP BY p_mfgr, p_brand) x
WHERE CASE WHEN average > 0 THEN abs(sales - average) / average ELSE NULL END > 0.01 ORDER BY p_mfgr, p_brand;
-- ds 2: shares of a total
SELECT p_type, sum(l_extendedprice) AS revenue,
  sum(l_extendedprice) * 100 / sum(sum(l_extendedprice)) OVER (PARTITION BY p_container) AS ratio, p_container
FROM lineitem, part WHERE l_partkey = p_partkey AND p_size BETWEEN 1 AND 5 AND l_shipdate BETWEEN '1994-01-01' AND '1994-01-31'
GROUP BY p_type, p_container ORDER BY p_container, p_type, ratio;
-- ds 3: rollup with grouping
SELECT r_name, n_name, grouping(r_name) + grouping(n_name) AS level, sum(c_acctbal) AS balance
FROM customer JOIN nation ON c_nationkey = n_nationkey JOIN region ON n_regionkey = r_regionkey
GROUP BY ROLLUP (r_name, n_name) ORDER BY level DESC, r_name, n_name;
-- ds 4: a rank within groups
SELECT * FROM (SELECT n_name, c_name, c_acctbal, rank() OVER (PARTITION BY n_name ORDER BY c_acctbal DESC) AS place
  FROM customer JOIN nation ON c_nationkey = n_nationkey) ranked WHERE place <= 3 ORDER BY n_name, place, c_name;
-- ds 5: EXISTS and NOT EXISTS
SELECT count(DISTINCT c_custkey) AS customers FROM customer WHERE EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)
  AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey AND o_orderdate >= date '1997-01-01');
-- ds 6: INTERSECT and EXCEPT
SELECT count(*) AS n FROM (SELECT o_custkey FROM orders WHERE year(o_orderdate) = 1995
  INTERSECT SELECT o_custkey FROM orders WHERE year(o_orderdate) = 1996
  EXCEPT SELECT o_custkey FROM orders WHERE year(o_orderdate) = 1997);
-- ds 7: days between two times
SELECT l_shipmode, sum(CASE WHEN datediff(l_receiptdate, l_shipdate) <= 10 THEN 1 ELSE 0 END) AS `10 days`,
  sum(CASE WHEN datediff(l_receiptdate, l_shipdate) BETWEEN 11 AND 20 THEN 1 ELSE 0 END) AS `20 days`,
  sum(CASE WHEN datediff(l_receiptdate, l_shipdate) > 20 THEN 1 ELSE 0 END) AS more
FROM lineitem GROUP BY l_shipmode ORDER BY l_shipmode;
-- ds 8: weeks pivoted into columns
SELECT s_nationkey, sum(CASE WHEN dayofweek(l_shipdate) = 1 THEN l_extendedprice END) AS sun,
  sum(CASE WHEN dayofweek(l_shipdate) = 2 THEN l_extendedprice END) AS mon,
  sum(CASE WHEN dayofweek(l_shipdate) = 7 THEN l_extendedprice END) AS sat
FROM lineitem JOIN supplier ON l_suppkey = s_suppkey GROUP BY s_nationkey ORDER BY s_nationkey;
-- ds 9: a subquery in each bucket
SELECT CASE WHEN (SELECT count(*) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20) > 20000
    THEN (SELECT avg(l_discount) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20)
    ELSE (SELECT avg(l_extendedprice) FROM lineitem WHERE l_quantity BETWEEN 1 AND 20) END AS bucket1,
  CASE WHEN (SELECT count(*) FROM lineitem WHERE l_quantity BETWEEN 21 AND 40) > 10
    THEN (SELECT avg(l_discount) FROM lineitem WHERE l_quantity BETWEEN 21 AND 40) ELSE NULL END AS bucket2;
-- ds 10: a correlated average
SELECT c_custkey, o_totalprice FROM customer JOIN orders o ON c_custkey = o_custkey
WHERE o_totalprice > (SELECT avg(o_totalprice) * 1.9 FROM orders WHERE o_custkey = o.o_custkey)
ORDER BY c_custkey, o_totalprice LIMIT 100;
-- ds 11: year over year by WITH
WITH yearly AS (SELECT o_custkey AS customer, year(o_orderdate) AS y, sum(o_totalprice) AS total FROM orders GROUP BY 1, 2)
SELECT a.customer, b.total / a.total AS growth FROM yearly a JOIN yearly b ON a.customer = b.customer AND b.y = a.y + 1
WHERE a.y = 1995 AND b.total > a.total * 3 ORDER BY a.customer;
-- ds 12: the median and the quartiles
SELECT c_mktsegment, percentile(c_acctbal, 0.5) AS median, percentile(c_acctbal, array(0.25, 0.75)) AS quartiles,
  stddev_samp(CAST(c_acctbal AS DOUBLE)) > 0 AS spread FROM customer GROUP BY c_mktsegment ORDER BY 1;
-- ds 13: a cumulative sum
SELECT d, sum(total) OVER (ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running
FROM (SELECT trunc(o_orderdate, 'MM') AS d, sum(o_totalprice) AS total FROM orders GROUP BY 1) m ORDER BY d;
-- ds 14: cube
SELECT l_returnflag, l_linestatus, count(*) AS n, min(l_shipdate) AS first_day FROM lineitem
GROUP BY CUBE (l_returnflag, l_linestatus) ORDER BY 1 NULLS LAST, 2 NULLS LAST;
-- ds 15: a full join of two channels
SELECT coalesce(a.d, b.d) AS d, a.n AS rail, b.n AS air FROM
  (SELECT l_shipdate AS d, count(*) AS n FROM lineitem WHERE l_shipmode = 'RAIL' GROUP BY 1) a FULL OUTER JOIN
  (SELECT l_shipdate AS d, count(*) AS n FROM lineitem WHERE l_shipmode = 'AIR' GROUP BY 1) b ON a.d = b.d ORDER BY d;
-- dbt 1: a staging model
SELECT CAST(o_orderkey AS STRING) AS order_id, CAST(o_custkey AS STRING) AS customer_id, lower(trim(o_orderpriority)) AS priority,
  CAST(o_orderdate AS TIMESTAMP) AS ordered_at, o_totalprice / 100 AS amount, coalesce(nullif(o_comment, ''), 'none') AS note
FROM orders WHERE o_orderkey <= 1000;
-- dbt 2: the newest row of each key
WITH ranked AS (SELECT *, row_number() OVER (PARTITION BY o_custkey ORDER BY o_orderdate DESC, o_orderkey DESC) AS rn FROM orders)
SELECT o_custkey, o_orderkey, o_orderdate FROM ranked WHERE rn = 1 ORDER BY 1;
-- dbt 3: a surrogate key
SELECT md5(concat_ws('-', coalesce(CAST(l_orderkey AS STRING), ''), coalesce(CAST(l_linenumber AS STRING), ''))) AS id,
  l_orderkey FROM lineitem WHERE l_orderkey < 100;
-- dbt 4: customers' lives
SELECT c_custkey, min(o_orderdate) AS first_order, max(o_orderdate) AS last_order, count(o_orderkey) AS orders,
  coalesce(sum(o_totalprice), 0) AS lifetime_value, CASE WHEN count(o_orderkey) >= 20 THEN 'gold' WHEN count(o_orderkey) > 0
  THEN 'silver' ELSE 'none' END AS tier FROM customer LEFT JOIN orders ON o_custkey = c_custkey GROUP BY c_custkey ORDER BY 1;
-- dbt 5: a date spine
WITH days AS (SELECT explode(sequence(date '1995-01-01', date '1995-03-31', interval 1 day)) AS day)
SELECT day, count(o_orderkey) AS orders FROM days LEFT JOIN orders ON o_orderdate = day GROUP BY day ORDER BY day;
-- dbt 6: sessions by gaps
WITH gaps AS (SELECT UserID, EventTime, lag(EventTime) OVER (PARTITION BY UserID ORDER BY EventTime) AS previous FROM hits),
 marked AS (SELECT UserID, EventTime, CASE WHEN previous IS NULL OR unix_timestamp(EventTime) - unix_timestamp(previous) > 86400
   THEN 1 ELSE 0 END AS is_new FROM gaps)
SELECT UserID, max(session) AS sessions FROM (SELECT UserID,
  sum(is_new) OVER (PARTITION BY UserID ORDER BY EventTime ROWS UNBOUNDED PRECEDING) AS session FROM marked) s
GROUP BY UserID ORDER BY sessions DESC, UserID LIMIT 20;
-- dbt 7: a pivot
SELECT * FROM (SELECT year(o_orderdate) AS y, o_orderstatus, o_totalprice FROM orders)
PIVOT (sum(o_totalprice) FOR o_orderstatus IN ('F' AS f, 'O' AS o, 'P' AS p)) ORDER BY y;
-- dbt 8: an unpivot
SELECT y, status, orders FROM (SELECT year(o_orderdate) AS y, count_if(o_orderstatus = 'F') AS f, count_if(o_orderstatus = 'O') AS o
  FROM orders GROUP BY 1) UNPIVOT (orders FOR status IN (f, o)) ORDER BY y, status;
-- dbt 9: a test of uniqueness
SELECT o_orderkey AS unique_field, count(*) AS n_records FROM orders WHERE o_orderkey IS NOT NULL GROUP BY o_orderkey HAVING count(*) > 1;
-- dbt 10: a test of relationships
SELECT l_orderkey AS from_field FROM lineitem LEFT JOIN orders ON l_orderkey = o_orderkey WHERE l_orderkey IS NOT NULL AND o_orderkey IS NULL;
-- dbt 11: a test of accepted values
WITH all_values AS (SELECT o_orderstatus AS value_field, count(*) AS n_records FROM orders GROUP BY 1)
SELECT * FROM all_values WHERE value_field NOT IN ('F', 'O');
-- dbt 12: cohorts by month
WITH firsts AS (SELECT o_custkey, min(trunc(o_orderdate, 'MM')) AS cohort FROM orders GROUP BY 1)
SELECT cohort, CAST(months_between(trunc(o_orderdate, 'MM'), cohort) AS INT) AS age, count(DISTINCT o.o_custkey) AS customers
FROM orders o JOIN firsts f ON o.o_custkey = f.o_custkey GROUP BY 1, 2 HAVING age <= 6 ORDER BY 1, 2;
-- dbt 13: union of two sources
SELECT 'customer' AS source, c_name AS name, c_phone AS phone FROM customer WHERE c_acctbal > 9900
UNION ALL SELECT 'supplier', s_name, s_phone FROM supplier WHERE s_acctbal > 9000 ORDER BY source, name;
-- dbt 14: hashes of rows
SELECT c_custkey, sha2(concat(c_name, '|', c_phone), 256) AS row_hash, crc32(c_name) AS checksum FROM customer WHERE c_custkey < 50;
-- dbt 15: parts of a text
SELECT split(o_orderpriority, '-')[0] AS level, split(o_orderpriority, '-')[1] AS label, substring_index(o_clerk, '#', -1) AS clerk,
  regexp_extract(o_clerk, '([0-9]+)', 1) AS digits, lpad(CAST(o_orderkey AS STRING), 8, '0') AS padded FROM orders WHERE o_orderkey < 200;
-- superset 1: a time series with a time grain
SELECT date_trunc('MONTH', EventTime) AS __timestamp, count(*) AS count FROM hits
WHERE EventTime >= CAST('2013-07-01 00:00:00' AS TIMESTAMP) AND EventTime < CAST('2013-08-01 00:00:00' AS TIMESTAMP)
GROUP BY date_trunc('MONTH', EventTime) ORDER BY count DESC LIMIT 10000;
-- superset 2: a top-n series in a join
SELECT date_trunc('DAY', EventTime) AS __timestamp, RegionID, count(DISTINCT UserID) AS users FROM hits
JOIN (SELECT RegionID AS RegionID__, count(*) AS mme_inner__ FROM hits GROUP BY RegionID ORDER BY mme_inner__ DESC, RegionID__ LIMIT 5) series_limit
ON RegionID = RegionID__ GROUP BY date_trunc('DAY', EventTime), RegionID ORDER BY users DESC, 1, 2 LIMIT 10000;
-- superset 3: a quoted virtual data set
SELECT `status` AS `status`, sum(`amount`) AS `SUM(amount)` FROM (SELECT o_orderstatus AS status, o_totalprice AS amount FROM orders) AS virtual_table
WHERE `amount` IS NOT NULL GROUP BY `status` ORDER BY `SUM(amount)` DESC LIMIT 1000;
-- superset 4: a histogram
SELECT floor(c_acctbal / 1000) * 1000 AS bin, count(*) AS n FROM customer GROUP BY 1 ORDER BY 1;
-- superset 5: a filter of many values
SELECT SearchPhrase, count(*) AS c FROM hits WHERE RegionID IN (1, 2, 3, 5, 8, 13, 21, 34, 55, 89) AND SearchPhrase != ''
GROUP BY SearchPhrase ORDER BY c DESC, SearchPhrase LIMIT 100;
-- superset 6: a big number with its trend
SELECT date_trunc('WEEK', EventTime) AS __timestamp, sum(AdvEngineID) AS `SUM(AdvEngineID)` FROM hits GROUP BY 1 ORDER BY 1;
-- superset 7: a table chart with percentages
SELECT o_orderpriority, count(*) AS n, count(*) / sum(count(*)) OVER () AS share FROM orders GROUP BY o_orderpriority ORDER BY n DESC, 1;
-- superset 8: a moving average
SELECT EventDate, n, avg(n) OVER (ORDER BY EventDate ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week FROM
  (SELECT EventDate, count(*) AS n FROM hits GROUP BY EventDate) ORDER BY EventDate;
-- superset 9: hours by days of the week
SELECT dayofweek(EventTime) AS d, hour(EventTime) AS h, count(*) AS n FROM hits GROUP BY 1, 2 ORDER BY 1, 2;
-- superset 10: a search without case
SELECT Title, count(*) AS n FROM hits WHERE lower(Title) LIKE lower('%GOOGLE%') GROUP BY Title ORDER BY Title;
-- superset 11: a box plot
SELECT c_mktsegment, min(c_acctbal), percentile(c_acctbal, 0.25), percentile(c_acctbal, 0.5), percentile(c_acctbal, 0.75),
  max(c_acctbal), avg(c_acctbal), count(*) FROM customer GROUP BY c_mktsegment ORDER BY 1;
-- superset 12: a funnel
SELECT count(DISTINCT CASE WHEN IsLink = 1 THEN UserID END) AS linked, count(DISTINCT CASE WHEN IsDownload = 1 THEN UserID END) AS loaded,
  count(DISTINCT UserID) AS users FROM hits;
-- superset 13: rows as they are
SELECT UserID, EventTime, URL FROM hits ORDER BY EventTime, UserID, URL LIMIT 50;
-- superset 14: compared with the time before
SELECT a.d, a.n, b.n AS before, (a.n - b.n) / b.n AS change FROM (SELECT EventDate AS d, count(*) AS n FROM hits GROUP BY 1) a
LEFT JOIN (SELECT date_add(EventDate, 7) AS d, count(*) AS n FROM hits GROUP BY 1) b ON a.d = b.d ORDER BY a.d;
-- superset 15: a text of each number
SELECT concat(CAST(o_orderkey AS STRING), ': ', CAST(o_totalprice AS STRING), ' on ', date_format(o_orderdate, 'dd.MM.yyyy')) AS label
FROM orders WHERE o_orderkey < 50 ORDER BY o_orderkey;
-- metabase 1: a count by day
SELECT CAST(`source`.`EventDate` AS DATE) AS `EventDate`, count(*) AS `count` FROM (SELECT * FROM hits) `source`
GROUP BY CAST(`source`.`EventDate` AS DATE) ORDER BY CAST(`source`.`EventDate` AS DATE) ASC;
-- metabase 2: a relative date
SELECT count(*) AS `count` FROM hits WHERE EventTime >= date_trunc('day', date_add(date '2013-07-31', -7)) AND EventTime < date '2013-07-31';
-- metabase 3: a joined question
SELECT `Customer`.`c_mktsegment` AS `Customer__segment`, sum(`o`.`o_totalprice`) AS `sum` FROM `orders` AS `o`
LEFT JOIN `customer` AS `Customer` ON `o`.`o_custkey` = `Customer`.`c_custkey` GROUP BY `Customer`.`c_mktsegment` ORDER BY `sum` DESC, 1;
-- metabase 4: a custom expression
SELECT floor(((`c_acctbal` - 0.0) / 2500.0)) * 2500.0 + 0.0 AS `c_acctbal`, count(*) AS `count` FROM `customer`
GROUP BY floor(((`c_acctbal` - 0.0) / 2500.0)) * 2500.0 + 0.0 ORDER BY 1;
-- metabase 5: the quarter of a year
SELECT quarter(o_orderdate) AS q, year(o_orderdate) AS y, max(o_totalprice) AS `max` FROM orders GROUP BY 1, 2 ORDER BY 2, 1;
-- metabase 6: is empty, is not empty
SELECT count(*) FROM hits WHERE (Referer IS NULL OR Referer = '') AND (MobilePhoneModel IS NOT NULL AND MobilePhoneModel <> '');
-- metabase 7: the standard deviation and the variance
SELECT RegionID, round(stddev_pop(ResolutionWidth), 6) AS s, round(var_pop(ResolutionWidth), 4) AS v FROM hits GROUP BY RegionID ORDER BY 1;
-- metabase 8: a nested question
SELECT `source`.`n` AS `n`, count(*) AS `count` FROM (SELECT o_custkey, count(*) AS n FROM orders GROUP BY o_custkey) `source`
WHERE `source`.`n` > 5 GROUP BY `source`.`n` ORDER BY `source`.`n`;
-- metabase 9: the time between two events
SELECT UserID, max(EventTime) - min(EventTime) AS life FROM hits GROUP BY UserID ORDER BY UserID LIMIT 20;
-- metabase 10: a list of values
SELECT o_custkey, concat_ws(',', sort_array(collect_set(o_orderpriority))) AS priorities, size(collect_list(o_orderkey)) AS n
FROM orders WHERE o_custkey < 100 GROUP BY o_custkey ORDER BY o_custkey;
-- metabase 11: the host of a page
SELECT parse_url(URL, 'HOST') AS host, count(*) AS n FROM hits GROUP BY 1 ORDER BY n DESC, 1;
-- metabase 12: the first and the last
SELECT c_mktsegment, max_by(c_name, c_custkey) AS newest, min_by(c_name, c_custkey) AS oldest FROM customer GROUP BY 1 ORDER BY 1;
-- metabase 13: buckets of equal size
SELECT quarter_of, count(*) AS n, sum(c_acctbal) AS balance FROM (SELECT c_acctbal, ntile(4) OVER (ORDER BY c_acctbal, c_custkey) AS quarter_of
FROM customer) t GROUP BY quarter_of ORDER BY quarter_of;
-- metabase 14: a share of a filter
SELECT l_shipmode, CAST(sum(CASE WHEN l_discount > 0.05 THEN 1 ELSE 0 END) AS DOUBLE) / CASE WHEN count(*) = 0 THEN NULL ELSE count(*) END AS share,
  count(*) FILTER (WHERE l_tax = 0) AS untaxed FROM lineitem GROUP BY l_shipmode ORDER BY l_shipmode;
-- metabase 15: numbers as text
SELECT format_number(sum(o_totalprice), 2) AS total, CAST(avg(CAST(o_totalprice AS DOUBLE)) > 0 AS STRING) AS is_positive,
  CAST(CAST(count(*) AS DOUBLE) / 7 AS STRING) AS weeks FROM orders;
