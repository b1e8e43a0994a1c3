-- Profiles as maps: built from pairs, read by key, exploded, merged.
CREATE TABLE trait (user_id STRING, name STRING, value STRING) STORED AS PARQUET;
INSERT INTO trait VALUES ('u1', 'city', 'Rome'), ('u1', 'plan', 'pro'), ('u2', 'plan', 'free'), ('u3', 'city', NULL), ('u3', 'plan', 'pro'), ('u3', 'lang', 'it');
CREATE TABLE profile (user_id STRING, traits MAP<STRING, STRING>) PARTITIONED BY (dt STRING) STORED AS PARQUET;
INSERT OVERWRITE TABLE profile PARTITION (dt = '2024-11-01')
SELECT user_id, map_from_entries(collect_list(struct(name, value))) FROM trait GROUP BY user_id;

SELECT user_id, traits['plan'] AS plan, traits['city'] AS city, size(traits) AS n FROM profile ORDER BY user_id;
SELECT user_id, sort_array(map_keys(traits)) AS names, map_contains_key(traits, 'lang') AS has_lang FROM profile ORDER BY user_id;
SELECT user_id, k, v FROM profile LATERAL VIEW explode(traits) t AS k, v ORDER BY user_id, k;
SELECT k, COUNT(*) AS users, COUNT(v) AS known FROM profile LATERAL VIEW explode(traits) t AS k, v GROUP BY k ORDER BY k;
SELECT user_id, element_at(traits, 'plan') = 'pro' AS is_pro FROM profile ORDER BY user_id;
SELECT user_id, sort_array(map_values(map_filter(traits, (k, v) -> v IS NOT NULL))) AS v FROM profile ORDER BY user_id;
INSERT INTO TABLE profile PARTITION (dt = '2024-11-02')
SELECT user_id, map_concat(traits, map('seen', dt)) FROM profile WHERE dt = '2024-11-01' AND user_id != 'u2';
SELECT user_id, traits['seen'] AS seen FROM profile WHERE dt = '2024-11-02' ORDER BY user_id;
SELECT m['a'] AS a, m['b'] AS b FROM (SELECT str_to_map('a:1,b:2', ',', ':') AS m) x;
SELECT dt, COUNT(*) AS n FROM profile WHERE traits['plan'] = 'pro' GROUP BY dt ORDER BY dt;
SELECT user_id, transform_values(traits, (k, v) -> upper(v))['plan'] AS plan FROM profile WHERE dt = '2024-11-01' ORDER BY user_id;
