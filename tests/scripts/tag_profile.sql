-- Explodes tags of articles, and collects the tags of each reader.
SET hive.exec.parallel=true;
CREATE TABLE article (id INT, title STRING, tags STRING) STORED AS PARQUET;
CREATE TABLE reading (reader STRING, article_id INT, seconds INT) PARTITIONED BY (dt STRING) STORED AS PARQUET;
INSERT INTO article VALUES
  (1, 'Bread at home', 'food,baking'),
  (2, 'Trains of the Alps', 'travel, rail ,mountains'),
  (3, 'No tags', ''),
  (4, 'Null tags', NULL),
  (5, 'Cheese', 'food');
INSERT OVERWRITE TABLE reading PARTITION (dt = '2024-07-01') VALUES
  ('r1', 1, 30), ('r1', 5, 100), ('r2', 2, 45), ('r2', 3, 5);
INSERT OVERWRITE TABLE reading PARTITION (dt = '2024-07-02') VALUES
  ('r1', 2, 12), ('r3', 4, 60), ('r3', 1, 61);

SELECT a.id, TRIM(t.tag) AS tag
FROM article a
LATERAL VIEW explode(split(a.tags, ',')) t AS tag
ORDER BY id, tag;

SELECT id, tag
FROM article LATERAL VIEW OUTER explode(split(tags, ',')) t AS tag
WHERE id >= 3
ORDER BY id, tag;

SELECT id, pos, tag
FROM article LATERAL VIEW posexplode(split(tags, ',')) t AS pos, tag
WHERE pos > 0
ORDER BY id, pos;

CREATE TABLE article_tag AS
SELECT id, LOWER(TRIM(tag)) AS tag
FROM article LATERAL VIEW explode(split(tags, ',')) x AS tag
WHERE tag != '';

SELECT tag, COUNT(*) AS articles FROM article_tag GROUP BY tag ORDER BY articles DESC, tag;

CREATE TABLE reader_profile (reader STRING, tags STRING, tag_count INT, seconds BIGINT) PARTITIONED BY (dt STRING)
STORED AS PARQUET;

INSERT OVERWRITE TABLE reader_profile PARTITION (dt = '2024-07-02')
SELECT r.reader,
       concat_ws(',', sort_array(collect_set(t.tag))),
       size(collect_set(t.tag)),
       SUM(r.seconds)
FROM reading r
JOIN article_tag t ON r.article_id = t.id
WHERE r.dt <= '2024-07-02'
GROUP BY r.reader;

SELECT * FROM reader_profile WHERE dt = '2024-07-02' ORDER BY reader;
SELECT reader, tags LIKE '%food%' AS likes_food, INSTR(tags, 'rail') AS rail_at FROM reader_profile ORDER BY reader;

SELECT reader, concat_ws('>', collect_list(title)) AS path
FROM (SELECT r.reader, a.title FROM reading r JOIN article a ON a.id = r.article_id WHERE r.dt = '2024-07-02' AND r.seconds < 61) x
GROUP BY reader ORDER BY reader;

SELECT title, size(split(tags, ',')) AS tag_count, split(tags, ',')[0] AS first_tag
FROM article WHERE tags IS NOT NULL ORDER BY title;

SELECT a.title, r.seconds
FROM article a LEFT SEMI JOIN reading b ON a.id = b.article_id
JOIN reading r ON r.article_id = a.id
WHERE r.seconds > 40
ORDER BY a.title, r.seconds;

SELECT a.title FROM article a LEFT ANTI JOIN reading r ON (a.id = r.article_id AND r.dt = '2024-07-01') ORDER BY a.title;
SELECT array_contains(split(tags, ','), 'food') AS food, COUNT(*) AS n FROM article WHERE tags IS NOT NULL
GROUP BY array_contains(split(tags, ','), 'food') ORDER BY food;
SHOW PARTITIONS reading;
DROP TABLE article_tag;
