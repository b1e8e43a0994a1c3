-- Files of a partner as they come: separators, null texts, quotes, dates.
CREATE TABLE partner_order (id INT, customer STRING, ordered DATE, amount DECIMAL(10,2), note STRING)
USING csv OPTIONS (header 'true', sep ';', nullValue 'NULL', dateFormat 'dd.MM.yyyy');
INSERT INTO partner_order VALUES
  (1, 'Müller; Söhne', DATE '2024-02-29', 12.50, 'plain'), (2, 'O''Hara', DATE '2024-03-01', NULL, 'a "quoted" word'),
  (3, NULL, NULL, 0.00, 'back\\slash'), (4, 'tab\there', DATE '1999-12-31', -7.25, 'no spaces');
SELECT * FROM partner_order ORDER BY id;
SELECT id, customer IS NULL AS is_null, length(note) AS chars FROM partner_order ORDER BY id;

CREATE TABLE partner_copy (id INT, customer STRING, ordered DATE, amount DECIMAL(10,2), note STRING)
USING csv OPTIONS (header 'false', sep '|', compression 'gzip', nullValue '\\N');
INSERT OVERWRITE TABLE partner_copy SELECT * FROM partner_order;
SELECT COUNT(*) AS n, SUM(amount) AS amount, MIN(ordered) AS first_day FROM partner_copy;
SELECT a.id FROM partner_order a JOIN partner_copy b ON a.id = b.id AND a.note <=> b.note AND a.customer <=> b.customer AND a.ordered <=> b.ordered ORDER BY a.id;

CREATE TABLE reading (sensor STRING, at TIMESTAMP, value DOUBLE) USING csv OPTIONS (header 'true', timestampFormat 'yyyy/MM/dd HH:mm:ss');
INSERT INTO reading VALUES ('s1', TIMESTAMP '2024-05-06 07:08:09', 1.5), ('s2', TIMESTAMP '2024-05-06 07:08:10', NULL), ('s1', NULL, -0.25);
SELECT sensor, at, value FROM reading ORDER BY sensor, at;
SELECT sensor, COUNT(value) AS n, SUM(value) AS total FROM reading GROUP BY sensor ORDER BY sensor;
