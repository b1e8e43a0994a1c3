-- Lines of a web server's log: parts by regular expressions, hosts of referrers, numbers in other bases, hashes.
CREATE TABLE log_line (line STRING) PARTITIONED BY (dt STRING) STORED AS TEXTFILE;
INSERT OVERWRITE TABLE log_line PARTITION (dt = '2024-08-09') VALUES
  ('10.0.0.1 GET /shop/item?id=7&lang=en 200 512 https://www.example.com/find?q=tea 1723161600'),
  ('10.0.0.2 GET /shop/item?id=8 200 2048 - 1723161659'),
  ('10.0.0.1 POST /cart 302 0 https://shop.example.com/shop/item?id=7 1723165200'),
  ('192.168.1.77 GET /ping 500 77 http://partner.org/a/b#c 1723247999'),
  ('bad line');

CREATE TABLE hit AS
SELECT regexp_extract(line, '^([0-9.]+) ', 1) AS ip,
       regexp_extract(line, '^[0-9.]+ ([A-Z]+) ', 1) AS method,
       regexp_extract(line, '^[0-9.]+ [A-Z]+ ([^ ]+) ', 1) AS path,
       CAST(regexp_extract(line, ' ([0-9]{3}) ', 1) AS INT) AS status,
       split(line, ' ')[4] AS bytes,
       split(line, ' ')[5] AS referrer,
       from_unixtime(CAST(regexp_extract(line, ' ([0-9]+)$', 1) AS BIGINT)) AS at
FROM log_line WHERE line RLIKE '^[0-9.]+ [A-Z]+ ';

SELECT * FROM hit ORDER BY at;
SELECT status, COUNT(*) AS n, SUM(CAST(bytes AS BIGINT)) AS bytes FROM hit GROUP BY status ORDER BY status;
SELECT parse_url(referrer, 'HOST') AS host, COUNT(*) AS n FROM hit WHERE referrer != '-' GROUP BY parse_url(referrer, 'HOST') ORDER BY host;
SELECT parse_url(referrer, 'QUERY', 'q') AS word FROM hit WHERE referrer LIKE '%?%' ORDER BY word;
SELECT ip, conv(split(ip, '[.]')[3], 10, 16) AS last_hex, CAST(split(ip, '[.]')[0] AS BIGINT) * 16777216 AS high FROM hit ORDER BY at;
SELECT regexp_replace(path, '[?].*$', '') AS page, COUNT(*) AS n FROM hit GROUP BY regexp_replace(path, '[?].*$', '') ORDER BY page;
SELECT str_to_map(split(path, '[?]')[1], '&', '=')['id'] AS id FROM hit WHERE path LIKE '%?%' ORDER BY id;
SELECT hash(ip, method) AS h, xxhash64(ip) AS x, pmod(hash(ip), 4) AS bucket, crc32(ip) AS c FROM hit ORDER BY at;
SELECT sha2(ip, 256) AS anonymous, md5(concat(ip, path)) AS id, base64(CAST(method AS BINARY)) AS b FROM hit ORDER BY at LIMIT 2;
SELECT date_format(CAST(at AS TIMESTAMP), 'HH:mm') AS minute, COUNT(*) AS n FROM hit GROUP BY date_format(CAST(at AS TIMESTAMP), 'HH:mm') ORDER BY minute;
SELECT format_string('%s %s: %05d', method, path, status) AS line, translate(ip, '.', '-') AS dashed, initcap(lower(method)) AS verb FROM hit ORDER BY at;
SELECT width_bucket(CAST(bytes AS DOUBLE), 0, 4000, 4) AS size_class, COUNT(*) AS n FROM hit GROUP BY width_bucket(CAST(bytes AS DOUBLE), 0, 4000, 4) ORDER BY size_class;
