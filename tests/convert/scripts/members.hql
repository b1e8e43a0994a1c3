/* Members: slowly changing, rewritten each night */
ADD JAR hdfs:///libs/brickhouse-0.7.1.jar;
CREATE TEMPORARY FUNCTION collect AS 'brickhouse.udf.collect.CollectUDAF';
SET hive.mapred.mode=nonstrict;
SET hive.cli.print.header=true;
DROP TABLE IF EXISTS member;
CREATE TABLE member (id INT, name STRING, birth STRING, points STRING, status STRING)
SKEWED BY (status) ON ('active', 'gone') STORED AS DIRECTORIES
STORED AS ORC;
INSERT INTO TABLE member VALUES
  (1, 'Ann', '1980-02-29', '10', 'active'), (2, 'Bob', '1990-02-30', '7.9', 'gone'),
  (3, 'Cy', '', ' 12 ', 'active'), (4, NULL, NULL, NULL, NULL), (5, 'Dee', '2001-1-2', '1e3', 'active');
CREATE TABLE member_age STORED AS ORC AS
SELECT id, floor(datediff(CAST('2024-05-01' AS DATE), CAST(birth AS DATE)) / 365.25) AS age, cast(points as int) AS points
FROM member;
SELECT * FROM member_age ORDER BY id;
DELETE FROM member WHERE status = 'gone' OR points IS NULL;
SELECT id, name FROM member ORDER BY id;
SELECT status, count(*) AS n, sum(cast(points AS double)) / count(points) AS mean_points FROM member GROUP BY status ORDER BY status;
SELECT max(to_date(birth)) AS youngest FROM member;
