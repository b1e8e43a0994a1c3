/* Members: slowly changing, rewritten each night */
-- rewriter: removed: programs in Java are not loaded
-- ADD JAR hdfs:///libs/brickhouse-0.7.1.jar
-- rewriter: removed: no statement of the script calls the function
-- CREATE TEMPORARY FUNCTION collect AS 'brickhouse.udf.collect.CollectUDAF'
SET hive.mapred.mode=nonstrict;
SET hive.cli.print.header=true;
DROP TABLE IF EXISTS member;
CREATE TABLE member (id INT, name STRING, birth STRING, points STRING, status STRING)
/* rewriter: removed SKEWED BY (status) ON ('active', 'gone') STORED AS DIRECTORIES: it changes no row */
STORED AS ORC;
INSERT INTO TABLE member VALUES
  (1, 'Ann', '1980-02-29', '10', 'active'), (2, 'Bob', '1990-02-30', '7.9', 'gone'),
  (3, 'Cy', '', ' 12 ', 'active'), (4, NULL, NULL, NULL, NULL), (5, 'Dee', '2001-1-2', '1e3', 'active');
CREATE TABLE member_age STORED AS ORC AS
SELECT id, floor(datediff(CAST('2024-05-01' AS DATE), TRY_CAST(birth AS DATE) /* rewriter: was CAST: a text that is no time is NULL */) / 365.25) AS age, TRY_CAST(CASE WHEN points RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(points, '[.][0-9]*', '0') WHEN points RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(points, '[.][0-9]*', '') ELSE points END AS int) /* rewriter: was CAST: a text that is no number is NULL */ AS points
FROM member;
SELECT * FROM member_age ORDER BY id;
INSERT OVERWRITE TABLE member /* rewriter: was DELETE: the table keeps the other rows */
SELECT * FROM member WHERE (status = 'gone' OR points IS NULL) IS NOT TRUE;
SELECT id, name FROM member ORDER BY id;
SELECT status, count(*) AS n, try_divide(sum(TRY_CAST(points AS double) /* rewriter: was CAST: what does not fit is NULL */), count(points)) /* rewriter: was /: NULL if the divisor is 0 */ AS mean_points FROM member GROUP BY status ORDER BY status;
SELECT max(try_to_date(birth) /* rewriter: was to_date: an error is NULL */) AS youngest FROM member;
