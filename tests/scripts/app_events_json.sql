-- Raw events of an app as JSON: parsed by paths, by a schema and by tuples, then counted by day.
SET hive.exec.dynamic.partition.mode=nonstrict;
CREATE TABLE raw_event (received TIMESTAMP, body STRING) STORED AS PARQUET;
INSERT INTO raw_event VALUES
  (TIMESTAMP '2024-09-01 08:00:01', '{"user":"u1","type":"open","at":"2024-09-01T08:00:00Z","props":{"screen":"home","ms":120}}'),
  (TIMESTAMP '2024-09-01 08:00:05', '{"user":"u1","type":"tap","at":"2024-09-01T08:00:04Z","props":{"screen":"home","ms":15},"tags":["a","b"]}'),
  (TIMESTAMP '2024-09-01 09:30:00', '{"user":"u2","type":"open","at":"2024-09-01T09:29:59Z","props":{"screen":"cart"}}'),
  (TIMESTAMP '2024-09-02 00:00:03', '{"user":"u2","type":"buy","at":"2024-09-02T00:00:01Z","props":{"screen":"cart","ms":900},"items":[{"sku":"x","n":2},{"sku":"y","n":1}]}'),
  (TIMESTAMP '2024-09-02 07:00:00', '{"user":null,"type":"open"}'),
  (TIMESTAMP '2024-09-02 07:00:01', '{}');

SELECT get_json_object(body, '$.type') AS type, COUNT(*) AS n
FROM raw_event GROUP BY get_json_object(body, '$.type') ORDER BY type;

SELECT received, j.user_id, j.type
FROM raw_event LATERAL VIEW json_tuple(body, 'user', 'type') j AS user_id, type
ORDER BY received;

CREATE TABLE event (user_id STRING, type STRING, screen STRING, ms INT, items INT) PARTITIONED BY (dt STRING) STORED AS PARQUET;
INSERT OVERWRITE TABLE event PARTITION (dt)
SELECT e.user, e.type, e.props.screen, e.props.ms, size(coalesce(e.items, array())), date_format(received, 'yyyy-MM-dd')
FROM (SELECT received, from_json(body, 'user STRING, type STRING, props STRUCT<screen: STRING, ms: INT>, items ARRAY<STRUCT<sku: STRING, n: INT>>') AS e
      FROM raw_event) parsed;

SELECT * FROM event ORDER BY dt, user_id, type, screen;
SELECT dt, COUNT(DISTINCT user_id) AS users, SUM(ms) AS ms, SUM(items) AS items FROM event GROUP BY dt ORDER BY dt;

SELECT user_id, item.sku, item.n
FROM (SELECT get_json_object(body, '$.user') AS user_id,
             from_json(get_json_object(body, '$.items'), 'ARRAY<STRUCT<sku: STRING, n: INT>>') AS items FROM raw_event) p
LATERAL VIEW explode(items) i AS item
ORDER BY user_id, item.sku;

SELECT to_json(named_struct('user', user_id, 'events', COUNT(*))) AS line FROM event WHERE user_id IS NOT NULL GROUP BY user_id ORDER BY line;
SELECT get_json_object(body, '$.props.ms') AS ms, get_json_object(body, '$.tags[1]') AS second_tag
FROM raw_event WHERE get_json_object(body, '$.user') = 'u1' ORDER BY received;
