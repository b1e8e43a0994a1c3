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
CLUSTERED BY (user_id) SORTED BY (line_time ASC) INTO 32 BUCKETS
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
STORED AS RCFILE
TBLPROPERTIES ('orc.compress'='SNAPPY');

INSERT OVERWRITE TABLE dwd_click PARTITION (dt, hr)
SELECT CAST(user_id AS BIGINT),
       CAST(line_time AS TIMESTAMP),   -- some are no times
       CAST(regexp_extract(url, 'id=([0-9]+)', 1) AS INT),
       parse_url(url, 'HOST'),
       CAST(cost AS DECIMAL(10,2)),
       dt,
       CAST(substr(line_time, 12, 2) AS INT)
FROM ods_click
WHERE dt = '2024-05-01'
DISTRIBUTE BY dt, user_id;

ANALYZE TABLE dwd_click PARTITION (dt, hr) COMPUTE STATISTICS;
MSCK REPAIR TABLE dwd_click;

SELECT user_id, click_time, item, host, cost, dt, hr FROM dwd_click ORDER BY user_id, item, hr;
SELECT hr, SUM(cost) / COUNT(item) AS per_item FROM dwd_click GROUP BY hr ORDER BY hr;
