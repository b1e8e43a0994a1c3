CREATE DATABASE IF NOT EXISTS survey COMMENT 'answers';
USE survey;
CREATE TABLE answers_raw (respondent STRING, q STRING, a STRING, filled STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t' LINES TERMINATED BY '\n' STORED AS INPUTFORMAT 'org.apache.hadoop.mapred.TextInputFormat' OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat';
INSERT INTO answers_raw VALUES ('r1','age','44','05/01/2024'),('r1','score','3.5','05/01/2024'),('r2','age','n/a','31/12/2024'),('r2','score','4','12/31/2024');
CREATE TABLE answers (respondent STRING, age SMALLINT, score DOUBLE, filled DATE) STORED AS PARQUET;
INSERT INTO TABLE answers
SELECT respondent,
       max(CASE WHEN q = 'age' THEN TRY_CAST(CASE WHEN a RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(a, '[.][0-9]*', '0') WHEN a RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(a, '[.][0-9]*', '') ELSE a END AS SMALLINT) /* rewriter: was CAST: a text that is no number is NULL */ END),
       max(CASE WHEN q = 'score' THEN TRY_CAST(a AS DOUBLE) /* rewriter: was CAST: what does not fit is NULL */ END),
       max(try_to_date(from_unixtime(unix_timestamp(try_to_timestamp(filled, 'MM/dd/yyyy')) /* rewriter: was unix_timestamp: a text that is no time is NULL */)) /* rewriter: was to_date: an error is NULL */)
FROM answers_raw GROUP BY respondent;
SELECT * FROM answers ORDER BY respondent;
SELECT percentile(TRY_CAST(CASE WHEN a RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(a, '[.][0-9]*', '0') WHEN a RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(a, '[.][0-9]*', '') ELSE a END AS BIGINT) /* rewriter: was CAST: a text that is no number is NULL */, 0.5) AS median FROM answers_raw WHERE q = 'age';
SELECT respondent, a, rank() OVER (PARTITION BY q ORDER BY TRY_CAST(a AS DOUBLE) /* rewriter: was CAST: what does not fit is NULL */ DESC) AS r FROM answers_raw WHERE q = 'score' ORDER BY respondent;
SELECT histogram_numeric(TRY_CAST(a AS DOUBLE) /* rewriter: was CAST: what does not fit is NULL */, 3) AS h FROM answers_raw WHERE q = 'score';
SELECT q, count(*) AS n FROM answers_raw GROUP BY q WITH ROLLUP ORDER BY q;
-- rewriter: not converted: EXPORT is not supported yet
EXPORT TABLE answers TO '/tmp/answers';
DROP DATABASE survey CASCADE;
-- not converted:
-- 17: EXPORT is not supported yet. Read the result with SELECT and write it from the client.
