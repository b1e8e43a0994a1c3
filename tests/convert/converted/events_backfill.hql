-- rewriter: removed: it only refuses inserts
-- SET hive.exec.dynamic.partition.mode=strict
SET hive.fetch.task.conversion=more;
SET hive.exec.reducers.bytes.per.reducer=256000000;
CREATE TABLE ev (id BIGINT, payload STRING) PARTITIONED BY (day STRING, kind STRING) STORED AS ORC;
INSERT INTO ev PARTITION (day='2024-01-01', kind='x') VALUES (1, '{"n":"5"}'), (2, '{"n":"0"}'), (3, NULL);
INSERT OVERWRITE TABLE ev PARTITION (day='2024-01-02', kind) SELECT id, payload, kind FROM ev WHERE day='2024-01-01' CLUSTER BY id;
SELECT day, kind, id, try_divide(10, TRY_CAST(CASE WHEN get_json_object(payload, '$.n') RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(get_json_object(payload, '$.n'), '[.][0-9]*', '0') WHEN get_json_object(payload, '$.n') RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(get_json_object(payload, '$.n'), '[.][0-9]*', '') ELSE get_json_object(payload, '$.n') END AS INT) /* rewriter: was CAST: a text that is no number is NULL */) /* rewriter: was /: NULL if the divisor is 0 */ AS r FROM ev ORDER BY day, id;
SELECT day, try_divide((sum(TRY_CAST(CASE WHEN get_json_object(payload, '$.n') RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(get_json_object(payload, '$.n'), '[.][0-9]*', '0') WHEN get_json_object(payload, '$.n') RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(get_json_object(payload, '$.n'), '[.][0-9]*', '') ELSE get_json_object(payload, '$.n') END AS INT) /* rewriter: was CAST: a text that is no number is NULL */) + 1), (count(*) - 3)) /* rewriter: was /: NULL if the divisor is 0 */ AS odd FROM ev GROUP BY day ORDER BY day;
-- rewriter: not converted: grouping__id has other values in each version of Hive
SELECT grouping__id, day, count(*) AS n FROM ev GROUP BY day, kind GROUPING SETS ((day), (day, kind));
SELECT day, id FROM ev WHERE id NOT IN (SELECT id FROM ev WHERE kind = 'y') AND TRY_CAST(day AS DATE) /* rewriter: was CAST: a text that is no time is NULL */ >= '2024-01-01' ORDER BY day, id;
ALTER TABLE ev ADD IF NOT EXISTS PARTITION (day='2024-01-09', kind='z');
-- rewriter: removed: VACUUM and COMPACT care for small files
-- ALTER TABLE ev PARTITION (day='2024-01-01', kind='x') CONCATENATE
ALTER TABLE ev SET TBLPROPERTIES ('auto.purge'='true');
SHOW CREATE TABLE ev;
-- not converted:
-- 9: grouping__id has other values in each version of Hive. Write grouping_id(), whose last bit is that of the last column.
