-- The steps of a nightly job of a support desk: defaults of columns, temporary views, and hints to Spark's cache.
CREATE TABLE ticket_log (
  ticket_id INT, opened STRING, priority STRING DEFAULT 'normal', minutes INT DEFAULT 0, cost DECIMAL(8,2) DEFAULT 1.50
) USING PARQUET;

INSERT INTO ticket_log (ticket_id, opened) VALUES (1, '2024-06-01'), (2, '2024-06-02');
INSERT INTO ticket_log VALUES (3, '2024-06-02', 'high', 35, DEFAULT), (4, '2024-06-03', DEFAULT, 12, 2.25);
ALTER TABLE ticket_log ALTER COLUMN priority SET DEFAULT 'low';
ALTER TABLE ticket_log ALTER COLUMN minutes DROP DEFAULT;
INSERT INTO ticket_log (ticket_id, opened) SELECT ticket_id + 10, opened FROM ticket_log WHERE ticket_id < 3;

SELECT ticket_id, opened, priority, minutes, cost FROM ticket_log ORDER BY ticket_id;

CREATE OR REPLACE TEMPORARY VIEW open_tickets AS SELECT ticket_id, opened, priority, cost FROM ticket_log WHERE minutes IS NULL OR minutes < 20;
CACHE TABLE open_tickets;
CACHE LAZY TABLE queue OPTIONS ('storageLevel' 'MEMORY_ONLY') AS SELECT priority, COUNT(*) AS tickets, SUM(cost) AS cost FROM open_tickets GROUP BY priority;

SELECT priority, tickets, cost FROM queue ORDER BY priority;
INSERT INTO ticket_log (ticket_id, opened, priority) VALUES (5, '2024-06-04', 'high');
REFRESH TABLE ticket_log;
SELECT priority, tickets, cost FROM queue ORDER BY priority;

CREATE TABLE queue_report USING PARQUET AS SELECT q.priority, q.tickets, t.ticket_id FROM queue q JOIN open_tickets t ON t.priority = q.priority;
SELECT priority, tickets, ticket_id FROM queue_report ORDER BY ticket_id;

-- From here on the name means the step, not the table.
CREATE TEMPORARY VIEW ticket_log AS SELECT ticket_id, minutes * 60 AS seconds FROM ticket_log WHERE minutes > 0;
SELECT ticket_id, seconds FROM ticket_log ORDER BY ticket_id;
SELECT COUNT(*) AS tickets FROM open_tickets;
ALTER VIEW ticket_log AS SELECT ticket_id FROM queue_report WHERE priority = 'high';
SELECT ticket_id FROM ticket_log ORDER BY ticket_id;
UNCACHE TABLE open_tickets;
CLEAR CACHE;
DROP VIEW ticket_log;
SELECT COUNT(*) AS tickets, MAX(ticket_id) AS latest FROM ticket_log;
