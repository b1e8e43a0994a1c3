-- rewriter: not converted: ADD is not supported
add file /opt/scripts/parse.py;
set hive.map.aggr=false;
CREATE TABLE rawlog (line STRING) STORED AS TEXTFILE;
INSERT INTO rawlog VALUES ('2024-07-01T00:00:01 INFO id=1 ms=12'), ('2024-07-01T00:00:02 WARN id=2 ms='), ('garbage'), (NULL);
SELECT regexp_extract(line, '^([^ ]+) ([A-Z]+)', 2) AS level, TRY_CAST(regexp_extract(line, 'ms=([0-9]*)', 1) AS INT) /* rewriter: was CAST: a text that is no number is NULL */ AS ms FROM rawlog ORDER BY level, ms;
SELECT try_to_date(substr(line, 1, 10)) /* rewriter: was to_date: an error is NULL */ AS d, hour(TRY_CAST(substr(line, 1, 19) AS TIMESTAMP) /* rewriter: a text that is no time is NULL */) AS h, unix_timestamp(try_to_timestamp(substr(line, 1, 19), "yyyy-MM-dd'T'HH:mm:ss")) /* rewriter: was unix_timestamp: a text that is no time is NULL */ AS u FROM rawlog ORDER BY u;
SELECT count(*) AS n, try_divide(sum(length(line)), sum(TRY_CAST(regexp_extract(line, 'ms=([0-9]*)', 1) AS INT) /* rewriter: was CAST: a text that is no number is NULL */)) /* rewriter: was /: NULL if the divisor is 0 */ AS r FROM rawlog;
SELECT lv, count(*) AS n FROM (SELECT get(split(line, ' '), 1) /* rewriter: was […]: NULL behind the end */ AS lv FROM rawlog) x GROUP BY lv ORDER BY lv;
SELECT reverse(line) AS r, lpad(cast(length(line) AS STRING), 4, '0') AS l FROM rawlog ORDER BY l;
-- rewriter: not converted: There is no function parse_it here
SELECT parse_it(line) FROM rawlog;
-- rewriter: not converted: Syntax error at or near 'dfs'
dfs -rm -r /tmp/rawlog;
-- rewriter: was source: convert this file, too
\i /opt/scripts/next.hql
-- rewriter: removed: the script ends here
-- quit
-- not converted:
-- 1: ADD is not supported. Configure the engine when you start it.
-- 10: There is no function parse_it here. Write an SQL expression. SHOW FUNCTIONS lists all.
-- 11: Syntax error at or near 'dfs'. Run it outside of the script: hadoop fs, or a command of the store.
