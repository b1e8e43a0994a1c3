set mapreduce.map.memory.mb=4096;
CREATE TABLE IF NOT EXISTS user_tag (uid BIGINT, tags STRING, props STRING) ROW FORMAT DELIMITED FIELDS TERMINATED BY '\t' STORED AS TEXTFILE;
INSERT OVERWRITE TABLE user_tag SELECT 1, 'a|b|c', '{"age":"31","city":"Rome"}' UNION ALL SELECT 2, 'a', '{"age":"x"}' UNION ALL SELECT 3, '', NULL;
SELECT uid, tag FROM user_tag LATERAL VIEW explode(split(tags, '\\|')) t AS tag ORDER BY uid, tag;
SELECT uid, get(split(tags, '\\|'), 0) /* rewriter: was […]: NULL behind the end */ AS first_tag, get(split(tags, '\\|'), 1) /* rewriter: was […]: NULL behind the end */ AS second_tag FROM user_tag ORDER BY uid;
SELECT uid, TRY_CAST(CASE WHEN get_json_object(props, '$.age') RLIKE '^[^0-9.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(get_json_object(props, '$.age'), '[.][0-9]*', '0') WHEN get_json_object(props, '$.age') RLIKE '^[^.]*[.][0-9]*[^0-9.]*$' THEN regexp_replace(get_json_object(props, '$.age'), '[.][0-9]*', '') ELSE get_json_object(props, '$.age') END AS INT) /* rewriter: was CAST: a text that is no number is NULL */ AS age, get_json_object(props, '$.city') AS city FROM user_tag ORDER BY uid;
SELECT tag, concat_ws(',', sort_array(collect_set(cast(uid AS STRING)))) AS uids FROM user_tag LATERAL VIEW OUTER explode(split(tags, '\\|')) t AS tag GROUP BY tag ORDER BY tag;
SELECT uid, coalesce(size(split(tags, '\\|')), -1) /* rewriter: was size: -1 for NULL */ AS n, instr(tags, 'b') AS at, if(tags = '', 'none', tags) AS shown FROM user_tag ORDER BY uid;
SELECT uid, nvl(get_json_object(props, '$.city'), 'unknown') AS city, TRY_CAST('5' AS TINYINT) /* rewriter: was CAST: a text that is no number is NULL */ AS five FROM user_tag ORDER BY uid;
-- rewriter: not converted: TRANSFORM … USING runs a program
SELECT TRANSFORM (uid, tags) USING 'python tag.py' AS (uid, tag) FROM user_tag;
SELECT count(*) AS n FROM user_tag;
-- not converted:
-- 10: TRANSFORM … USING runs a program. Write its work in SQL.
