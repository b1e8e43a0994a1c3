CREATE DATABASE IF NOT EXISTS survey COMMENT 'answers';
USE survey;
CREATE TABLE answers_raw (respondent STRING, q STRING, a STRING, filled STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t' LINES TERMINATED BY '\n' STORED AS INPUTFORMAT 'org.apache.hadoop.mapred.TextInputFormat' OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat';
INSERT INTO answers_raw VALUES ('r1','age','44','05/01/2024'),('r1','score','3.5','05/01/2024'),('r2','age','n/a','31/12/2024'),('r2','score','4','12/31/2024');
CREATE TABLE answers (respondent STRING, age SMALLINT, score DOUBLE, filled DATE) STORED AS PARQUET;
INSERT INTO TABLE answers
SELECT respondent,
       max(CASE WHEN q = 'age' THEN CAST(a AS SMALLINT) END),
       max(CASE WHEN q = 'score' THEN CAST(a AS DOUBLE) END),
       max(to_date(from_unixtime(unix_timestamp(filled, 'MM/dd/yyyy'))))
FROM answers_raw GROUP BY respondent;
SELECT * FROM answers ORDER BY respondent;
SELECT percentile(cast(a AS BIGINT), 0.5) AS median FROM answers_raw WHERE q = 'age';
SELECT respondent, a, rank() OVER (PARTITION BY q ORDER BY CAST(a AS DOUBLE) DESC) AS r FROM answers_raw WHERE q = 'score' ORDER BY respondent;
SELECT histogram_numeric(cast(a AS DOUBLE), 3) AS h FROM answers_raw WHERE q = 'score';
SELECT q, count(*) AS n FROM answers_raw GROUP BY q WITH ROLLUP ORDER BY q;
EXPORT TABLE answers TO '/tmp/answers';
DROP DATABASE survey CASCADE;
