-- Removes duplicate device messages and merges them into a latest-state table.
set hive.exec.dynamic.partition=true;
set hive.exec.dynamic.partition.mode=nonstrict;
set hive.optimize.sort.dynamic.partition=true;
set spark.sql.legacy.timeParserPolicy=LEGACY;
drop table if exists device_message;
create table device_message (
    device_id string,
    seq int,
    battery int,
    firmware string,
    sent string,
    received timestamp
) partitioned by (dt string) stored as orc;

insert into device_message partition (dt='20240115') values
    ('A', 1, 90, '1.0.0', '2024-01-15T10:00:00Z', cast('2024-01-15 10:00:02' as timestamp)),
    ('A', 1, 90, '1.0.0', '2024-01-15T10:00:00Z', cast('2024-01-15 10:00:09' as timestamp)),
    ('A', 2, 88, '1.0.1', '2024-01-15T11:00:00Z', cast('2024-01-15 11:00:02' as timestamp)),
    ('B', 1, 15, '0.9.9', '2024-01-15T23:59:00Z', cast('2024-01-16 00:00:30' as timestamp)),
    ('C', 7, null, null,  null,                   cast('2024-01-15 03:00:00' as timestamp));
insert into device_message partition (dt='20240116') values
    ('B', 1, 15, '0.9.9', '2024-01-15T23:59:00Z', cast('2024-01-16 00:01:30' as timestamp)),
    ('B', 2, 14, '1.0.1', '2024-01-16T01:00:00Z', cast('2024-01-16 01:00:01' as timestamp));

drop table if exists device_clean;
create table device_clean (device_id string, seq int, battery int, firmware string, sent_at timestamp)
partitioned by (dt string) stored as orc;

with ranked as (
    select device_id, seq, battery, firmware,
           to_timestamp(sent, "yyyy-MM-dd'T'HH:mm:ss'Z'") as sent_at,
           received,
           row_number() over (partition by device_id, seq order by received) as rn
    from device_message
    where dt between '20240115' and '20240116'
)
insert overwrite table device_clean partition (dt)
select device_id, seq, battery, firmware, sent_at, date_format(coalesce(sent_at, received), 'yyyyMMdd') as dt
from ranked
where rn = 1;
select device_id, seq, battery, firmware, sent_at, dt from device_clean order by device_id, seq;

create table device_state (device_id string, battery int, firmware string, last_seen timestamp) stored as orc;
insert overwrite table device_state
select device_id, battery, firmware, sent_at
from (select *, rank() over (partition by device_id order by dt desc, seq desc) as r from device_clean) x
where r = 1;
select * from device_state order by device_id;

insert into device_state values ('D', 100, '2.0.0', null);
select firmware, count(*) as n, min(battery) as weakest from device_state group by firmware order by n desc, firmware;
select split(firmware, '[.]')[0] as major, avg(battery) as battery from device_state where firmware is not null group by split(firmware, '[.]')[0] order by major;
select device_id, case when battery is null then 'unknown' when battery < 20 then 'low' else 'ok' end as state,
       nvl2(last_seen, 'seen', 'never') as seen
from device_state order by device_id;
select dt, count(*) as messages, count(distinct device_id, seq) as distinct_messages from device_message group by dt order by dt;
select device_id, max(seq) - min(seq) + 1 - count(distinct seq) as missing from device_clean group by device_id order by device_id;
select device_id, unix_timestamp(sent_at) as epoch, from_utc_timestamp(sent_at, 'Europe/Berlin') as local_time
from device_clean where sent_at is not null order by device_id, seq;
select concat_ws('/', device_id, cast(seq as string), firmware) as k from device_clean order by k;
select device_id from device_clean where dt = 20240115 and battery > '50' order by device_id, seq;
select * from device_clean where firmware rlike '^1\\.' order by device_id, seq;
show partitions device_clean;
alter table device_message drop if exists partition (dt='20240115');
show partitions device_message;
describe device_state;
drop table device_message;
