-- Tickets of the support desk: status changes, time in each status and backlog.
SET spark.sql.session.timeZone = UTC;
SET spark.sql.ansi.enabled = false;
CREATE TABLE IF NOT EXISTS ticket_event (ticket_id INT NOT NULL, status STRING, agent STRING, changed_at TIMESTAMP) USING parquet PARTITIONED BY (event_date DATE);
INSERT INTO ticket_event VALUES
  (1, 'new',    NULL,  TIMESTAMP '2024-03-04 08:00:00', DATE '2024-03-04'),
  (1, 'open',   'kim', TIMESTAMP '2024-03-04 09:30:00', DATE '2024-03-04'),
  (1, 'solved', 'kim', TIMESTAMP '2024-03-05 10:00:00', DATE '2024-03-05'),
  (2, 'new',    NULL,  TIMESTAMP '2024-03-04 22:00:00', DATE '2024-03-04'),
  (2, 'open',   'lee', TIMESTAMP '2024-03-06 08:15:00', DATE '2024-03-06'),
  (3, 'new',    NULL,  TIMESTAMP '2024-03-06 12:00:00', DATE '2024-03-06');

CREATE OR REPLACE VIEW ticket_interval AS
SELECT ticket_id, status, agent, changed_at AS from_time,
       LEAD(changed_at) OVER (PARTITION BY ticket_id ORDER BY changed_at) AS to_time
FROM ticket_event;
SELECT * FROM ticket_interval ORDER BY ticket_id, from_time;

SELECT status, ROUND(SUM((unix_timestamp(COALESCE(to_time, TIMESTAMP '2024-03-07 00:00:00')) - unix_timestamp(from_time)) / 3600.0), 2) AS hours
FROM ticket_interval GROUP BY status ORDER BY status;

CREATE TABLE backlog (open_tickets BIGINT, oldest INT) USING parquet PARTITIONED BY (day DATE);
INSERT OVERWRITE backlog PARTITION (day)
SELECT COUNT(*), MIN(i.ticket_id), c.day
FROM (SELECT DISTINCT event_date AS day FROM ticket_event) c
JOIN ticket_interval i
  ON i.status <> 'solved'
 AND i.from_time < CAST(date_add(c.day, 1) AS TIMESTAMP)
 AND (i.to_time IS NULL OR i.to_time >= CAST(date_add(c.day, 1) AS TIMESTAMP))
GROUP BY c.day;
SELECT day, open_tickets, oldest FROM backlog ORDER BY day;

SELECT ticket_id,
       MAX(status) FILTER (WHERE status <> 'new') AS any_status,
       COUNT(*) FILTER (WHERE agent IS NULL) AS unassigned,
       MIN(changed_at) AS created,
       MAX_BY(status, changed_at) AS last_status
FROM ticket_event GROUP BY ticket_id ORDER BY ticket_id;
SELECT agent, COUNT(DISTINCT ticket_id) AS tickets, BOOL_OR(status = 'solved') AS solved_any
FROM ticket_event WHERE agent IS NOT NULL GROUP BY agent ORDER BY agent;
SELECT event_date, status, COUNT(*) AS n FROM ticket_event GROUP BY event_date, status ORDER BY ALL;
SELECT t.ticket_id, t.status FROM ticket_event t
QUALIFY ROW_NUMBER() OVER (PARTITION BY ticket_id ORDER BY changed_at DESC) = 1 ORDER BY t.ticket_id;
SELECT dayofweek(event_date) AS dow, date_format(event_date, 'EEEE') AS name, COUNT(*) AS n FROM ticket_event GROUP BY 1, 2 ORDER BY 1;
SELECT CAST('12x' AS INT) AS bad, 1 / 0 AS inf, CAST('7' AS INT) + 1 AS eight;
SELECT ticket_id, IFNULL(agent, 'nobody') AS agent, IF(agent IS NULL, 0, 1) AS assigned, decode(status, 'new', 1, 'open', 2, 3) AS code
FROM ticket_event ORDER BY ticket_id, changed_at;
SELECT explode(sequence(DATE '2024-03-04', DATE '2024-03-06', INTERVAL 1 DAY)) AS day;
SELECT event_date FROM ticket_event WHERE event_date > '2024-03-04' GROUP BY event_date ORDER BY event_date;
SELECT event_date FROM ticket_event WHERE event_date = '2024-3-5' ORDER BY event_date;
SELECT ticket_id, timestampdiff(HOUR, MIN(changed_at), MAX(changed_at)) AS hours FROM ticket_event GROUP BY ticket_id ORDER BY ticket_id;
SELECT date_trunc('WEEK', changed_at) AS week, COUNT(*) AS n FROM ticket_event GROUP BY date_trunc('WEEK', changed_at) ORDER BY week;
SHOW PARTITIONS ticket_event;
ALTER TABLE ticket_event DROP PARTITION (event_date = DATE '2024-03-04');
SELECT COUNT(*) AS n FROM ticket_event;
DROP VIEW ticket_interval;
