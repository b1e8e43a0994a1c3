-- Page views arrive each hour; a job fills (dt, hr) and a daily rollup.
set spark.sql.sources.partitionOverwriteMode=dynamic;
set spark.sql.shuffle.partitions=4;
set spark.sql.session.timeZone=UTC;

create table if not exists raw_pv (
  user_id string,
  url string,
  referrer string,
  ua string,
  ts bigint
) using parquet;

insert into raw_pv values
  ('u1', 'https://shop.example/p/12?utm_source=mail&x=1', 'https://news.example/', 'Mozilla/5.0 (iPhone)', 1709283600),
  ('u1', 'https://shop.example/p/13', null, 'Mozilla/5.0 (iPhone)', 1709283660),
  ('u2', 'https://shop.example/', 'https://search.example/?q=shoes', 'Mozilla/5.0 (Windows NT 10.0)', 1709287200),
  ('u3', 'http://shop.example/cart', '', 'curl/8.0', 1709290799),
  (null, 'https://shop.example/p/12', 'https://shop.example/', 'Mozilla/5.0 (Android 14)', 1709290800),
  ('u2', 'https://shop.example/p/12?utm_source=ads', null, 'Mozilla/5.0 (Windows NT 10.0)', 1709377199);

create table if not exists dwd_pv (
  user_id string,
  path string,
  source string,
  device string,
  event_time timestamp
) using parquet
partitioned by (dt string, hr string);

insert overwrite table dwd_pv partition (dt, hr)
select
  user_id,
  regexp_extract(url, '^https?://[^/]+(/[^?]*)', 1) as path,
  nvl(nullif(regexp_extract(url, 'utm_source=([a-z]+)', 1), ''), 'direct') as source,
  case
    when ua like '%iPhone%' or ua like '%Android%' then 'mobile'
    when ua like '%Windows%' then 'desktop'
    else 'other'
  end as device,
  cast(from_unixtime(ts) as timestamp) as event_time,
  from_unixtime(ts, 'yyyy-MM-dd') as dt,
  from_unixtime(ts, 'HH') as hr
from raw_pv
where url is not null;

show partitions dwd_pv;
select dt, hr, user_id, path, source, device, event_time
from dwd_pv
order by event_time, path;

-- 09 h on 1 March is computed again, as after a late file.
insert overwrite table dwd_pv partition (dt = '2024-03-01', hr = '09')
select user_id, path, 'late', device, event_time from dwd_pv where dt = '2024-03-01' and hr = '09';

select hr, source, count(*) as pv, count(distinct user_id) as uv
from dwd_pv
where dt = '2024-03-01' and hr between '08' and '11'
group by hr, source
order by hr, source;

create table dws_pv_daily (path string, pv bigint, uv bigint, mobile_pv bigint, mobile_rate double)
using parquet partitioned by (dt string);

insert overwrite table dws_pv_daily partition (dt)
select path,
       count(1),
       count(distinct user_id),
       sum(case when device = 'mobile' then 1 else 0 end),
       round(sum(case when device = 'mobile' then 1 else 0 end) / count(1), 4),
       dt
from dwd_pv
group by dt, path;

select * from dws_pv_daily order by dt, pv desc, path;
select dt, path, pv, sum(pv) over (partition by dt order by pv desc, path) as running
from dws_pv_daily
order by dt, running, path;
select upper(device) as device, round(avg(length(path)), 2) as avg_len
from dwd_pv where hr != '23' group by upper(device) order by 1;
alter table dwd_pv drop if exists partition (dt = '2024-03-01', hr = '11');
show partitions dwd_pv;
select count(*) from dwd_pv;
drop table raw_pv;
