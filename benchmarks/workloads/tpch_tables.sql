-- Tables of TPC-H at {scale}: columns, sizes and domains of TPC Benchmark H, revision 3.0.1, clauses 1.4 and 4.2.3.
-- region
SELECT CAST(k AS BIGINT) AS r_regionkey, ['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'][k + 1] AS r_name,
  'region ' || k AS r_comment FROM range(5) t(k);
-- nation
SELECT CAST(k AS BIGINT) AS n_nationkey, ['ALGERIA', 'ARGENTINA', 'BRAZIL', 'CANADA', 'EGYPT', 'ETHIOPIA', 'FRANCE',
  'GERMANY', 'INDIA', 'INDONESIA', 'IRAN', 'IRAQ', 'JAPAN', 'JORDAN', 'KENYA', 'MOROCCO', 'MOZAMBIQUE', 'PERU', 'CHINA',
  'ROMANIA', 'SAUDI ARABIA', 'VIETNAM', 'RUSSIA', 'UNITED KINGDOM', 'UNITED STATES'][k + 1] AS n_name,
  CAST([0, 1, 1, 1, 4, 0, 3, 3, 2, 2, 4, 4, 2, 4, 0, 0, 0, 1, 2, 3, 4, 2, 3, 3, 1][k + 1] AS BIGINT) AS n_regionkey,
  'nation ' || k AS n_comment FROM range(25) t(k);
-- supplier
SELECT k AS s_suppkey, format('Supplier#{{:09d}}', k) AS s_name, 'address ' || h(k, 1, 100000) AS s_address,
  k % 25 AS s_nationkey, format('{{:d}}-{{:03d}}-{{:03d}}', k % 25 + 10, h(k, 3, 1000), h(k, 4, 1000)) AS s_phone,
  CAST((h(k, 5, 1099999) - 99999) / 100 AS DECIMAL(15, 2)) AS s_acctbal,
  CASE WHEN h(k, 6, 50) = 0 THEN 'the Customer has some Complaints' ELSE 'comment ' || k END AS s_comment
  FROM (SELECT k + 1 AS k FROM range(CAST(10000 * {scale} AS BIGINT)) t(k));
-- part
SELECT k AS p_partkey, array_to_string([colors[h(k, salt, len(colors)) + 1] for salt in [1, 2, 3, 4, 5]], ' ') AS p_name,
  'Manufacturer#' || h(k, 6, 5) + 1 AS p_mfgr, 'Brand#' || (h(k, 6, 5) + 1) || (h(k, 7, 5) + 1) AS p_brand,
  concat(['STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO'][h(k, 8, 6) + 1], ' ',
    ['ANODIZED', 'BURNISHED', 'PLATED', 'POLISHED', 'BRUSHED'][h(k, 9, 5) + 1], ' ',
    ['TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'][h(k, 10, 5) + 1]) AS p_type,
  CAST(h(k, 11, 50) + 1 AS INTEGER) AS p_size,
  concat(['SM', 'LG', 'MED', 'JUMBO', 'WRAP'][h(k, 12, 5) + 1], ' ',
    ['CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'][h(k, 13, 8) + 1]) AS p_container,
  CAST(900 + k % 1000 / 10 AS DECIMAL(15, 2)) AS p_retailprice, 'comment ' || h(k, 14, 1000) AS p_comment
  FROM (SELECT k + 1 AS k, ['almond', 'antique', 'azure', 'beige', 'blue', 'brown', 'forest', 'green', 'ivory', 'khaki',
    'lemon', 'linen', 'maroon', 'navy', 'olive', 'plum', 'rose', 'salmon', 'steel', 'tan'] AS colors
    FROM range(CAST(200000 * {scale} AS BIGINT)) t(k));
-- partsupp
SELECT k AS ps_partkey, supplier(k, i, suppliers) AS ps_suppkey, CAST(h(k, 20 + i, 9999) + 1 AS INTEGER) AS ps_availqty,
  CAST((h(k, 30 + i, 99901) + 100) / 100 AS DECIMAL(15, 2)) AS ps_supplycost, 'comment ' || h(k, i, 1000) AS ps_comment
  FROM (SELECT k + 1 AS k, CAST(10000 * {scale} AS BIGINT) AS suppliers FROM range(CAST(200000 * {scale} AS BIGINT)) t(k)), range(4) r(i);
-- customer
SELECT k AS c_custkey, format('Customer#{{:09d}}', k) AS c_name, 'address ' || h(k, 1, 100000) AS c_address,
  h(k, 2, 25) AS c_nationkey, format('{{:d}}-{{:03d}}-{{:03d}}', h(k, 2, 25) + 10, h(k, 3, 1000), h(k, 4, 1000)) AS c_phone,
  CAST((h(k, 5, 1099999) - 99999) / 100 AS DECIMAL(15, 2)) AS c_acctbal,
  ['AUTOMOBILE', 'BUILDING', 'FURNITURE', 'MACHINERY', 'HOUSEHOLD'][h(k, 6, 5) + 1] AS c_mktsegment,
  'comment ' || h(k, 7, 1000) AS c_comment FROM (SELECT k + 1 AS k FROM range(CAST(150000 * {scale} AS BIGINT)) t(k));
-- orders
SELECT k AS o_orderkey, customer AS o_custkey, ['F', 'O', 'P'][h(k, 2, 3) + 1] AS o_orderstatus,
  CAST((h(k, 3, 50000000) + 100000) / 100 AS DECIMAL(15, 2)) AS o_totalprice, order_date(k) AS o_orderdate,
  ['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'][h(k, 5, 5) + 1] AS o_orderpriority,
  format('Clerk#{{:09d}}', h(k, 6, 1000)) AS o_clerk, CAST(0 AS INTEGER) AS o_shippriority,
  CASE WHEN h(k, 7, 50) = 0 THEN 'some special kinds of requests' ELSE 'comment ' || h(k, 8, 1000) END AS o_comment
  FROM (SELECT k + 1 AS k, h(k, 1, CAST(50000 * {scale} AS BIGINT)) * 3 + h(k, 9, 2) + 1 AS customer
    FROM range(CAST(1500000 * {scale} AS BIGINT)) t(k));
-- lineitem
SELECT k AS l_orderkey, part AS l_partkey, supplier(part, h(n, 2, 4), suppliers) AS l_suppkey,
  CAST(line AS INTEGER) AS l_linenumber, CAST(quantity AS DECIMAL(15, 2)) AS l_quantity,
  CAST(quantity * CAST(900 + part % 1000 / 10 AS DECIMAL(15, 2)) AS DECIMAL(15, 2)) AS l_extendedprice,
  CAST(h(n, 4, 11) / 100 AS DECIMAL(15, 2)) AS l_discount, CAST(h(n, 5, 9) / 100 AS DECIMAL(15, 2)) AS l_tax,
  CASE WHEN received > DATE '1995-06-17' THEN 'N' WHEN h(n, 6, 2) = 0 THEN 'R' ELSE 'A' END AS l_returnflag,
  CASE WHEN shipped > DATE '1995-06-17' THEN 'O' ELSE 'F' END AS l_linestatus, shipped AS l_shipdate,
  CAST(order_date(k) + CAST(30 + h(n, 7, 61) AS INTEGER) AS DATE) AS l_commitdate, received AS l_receiptdate,
  ['DELIVER IN PERSON', 'COLLECT COD', 'NONE', 'TAKE BACK RETURN'][h(n, 8, 4) + 1] AS l_shipinstruct,
  ['REG AIR', 'AIR', 'RAIL', 'SHIP', 'TRUCK', 'MAIL', 'FOB'][h(n, 9, 7) + 1] AS l_shipmode,
  'comment ' || h(n, 10, 1000) AS l_comment
  FROM (SELECT *, CAST(shipped + CAST(1 + h(n, 11, 30) AS INTEGER) AS DATE) AS received
    FROM (SELECT k, line, k * 8 + line AS n, h(k * 8 + line, 1, CAST(200000 * {scale} AS BIGINT)) + 1 AS part,
        CAST(order_date(k) + CAST(1 + h(k * 8 + line, 12, 121) AS INTEGER) AS DATE) AS shipped,
        CASE WHEN h(k, 13, 500) = 0 THEN 44 + h(k * 8 + line, 3, 7) ELSE h(k * 8 + line, 3, 50) + 1 END AS quantity, CAST(10000 * {scale} AS BIGINT) AS suppliers
      FROM (SELECT k + 1 AS k FROM range(CAST(1500000 * {scale} AS BIGINT)) t(k)), range(1, 8) r(line)
      WHERE line <= h(k, 10, 7) + 1));
