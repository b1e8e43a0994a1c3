-- Daily click stream: raw text log to a partitioned table
set hive.exec.dynamic.partition=true;
set hive.exec.dynamic.partition.mode=nonstrict;
set hive.exec.compress.output=true;
set mapred.output.compression.codec=org.apache.hadoop.io.compress.SnappyCodec;
SET mapreduce.job.queuename=etl;
set hive.exec.max.dynamic.partitions.pernode=1000;

CREATE TABLE IF NOT EXISTS ods_click (
  line_time STRING COMMENT 'as in the log',
  user_id   STRING,
  url       STRING,
  referrer  STRING,
  cost      STRING
)
COMMENT 'raw clicks'
PARTITIONED BY (dt STRING)
/* rewriter: removed CLUSTERED BY (user_id) SORTED BY (line_time ASC) INTO 32 BUCKETS: it changes no row */
ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t'
STORED AS TEXTFILE;

INSERT OVERWRITE TABLE ods_click PARTITION (dt='2024-05-01') VALUES
  ('2024-05-01 10:00:00', '1', 'http://shop.example/a?id=7&x=1', 'http://search.example/q', '1.50'),
  ('2024-05-01 10:01:00', '2', 'http://shop.example/b?id=x', NULL, 'n/a'),
  ('not a time', '03', 'http://shop.example/c', 'http://search.example/q', '12.7'),
  ('2024-05-01 11:59:59', 'u4', '/relative', '', ''),
  (NULL, NULL, NULL, NULL, NULL);

CREATE TABLE IF NOT EXISTS dwd_click (
  user_id BIGINT, click_time TIMESTAMP, item INT, host STRING, cost DECIMAL(10,2)
) PARTITIONED BY (dt STRING, hr INT)
STORED AS PARQUET /* rewriter: was STORED AS RCFILE */
TBLPROPERTIES ('orc.compress'='SNAPPY');

INSERT OVERWRITE TABLE dwd_click PARTITION (dt, hr)
SELECT TRY_CAST(CASE WHEN user_id RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(user_id, '[.][0-9]*', '0') WHEN user_id RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(user_id, '[.][0-9]*', '') ELSE user_id END AS BIGINT) /* rewriter: was CAST: a text that is no number is NULL */,
       TRY_CAST(line_time AS TIMESTAMP) /* rewriter: was CAST: a text that is no time is NULL */,   -- some are no times
       TRY_CAST(regexp_extract(url, 'id=([0-9]+)', 1) AS INT) /* rewriter: was CAST: a text that is no number is NULL */,
       try_parse_url(url, 'HOST') /* rewriter: was parse_url: an error is NULL */,
       TRY_CAST(cost AS DECIMAL(10,2)) /* rewriter: was CAST: what does not fit is NULL */,
       dt,
       TRY_CAST(CASE WHEN substr(line_time, 12, 2) RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(substr(line_time, 12, 2), '[.][0-9]*', '0') WHEN substr(line_time, 12, 2) RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(substr(line_time, 12, 2), '[.][0-9]*', '') ELSE substr(line_time, 12, 2) END AS INT) /* rewriter: was CAST: a text that is no number is NULL */
FROM ods_click
WHERE dt = '2024-05-01'
DISTRIBUTE BY dt, user_id;

ANALYZE TABLE dwd_click PARTITION (dt, hr) COMPUTE STATISTICS;
MSCK REPAIR TABLE dwd_click;

SELECT user_id, click_time, item, host, cost, dt, hr FROM dwd_click ORDER BY user_id, item, hr;
SELECT hr, try_divide(SUM(cost), COUNT(item)) /* rewriter: was /: NULL if the divisor is 0 */ AS per_item FROM dwd_click GROUP BY hr ORDER BY hr;
