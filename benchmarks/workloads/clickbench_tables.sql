-- The columns of ClickBench's table that its queries name, for {rows} rows.
-- hits
SELECT CAST(hash(n) >> 1 AS BIGINT) AS WatchID, titles[h(n, 1, 12) + 1] AS Title,
  TIMESTAMP '2013-07-01' + to_seconds(h(n, 2, 2678400)) AS EventTime,
  CAST(TIMESTAMP '2013-07-01' + to_seconds(h(n, 2, 2678400)) AS DATE) AS EventDate,
  CAST([62, 62, 38, 1, 3922][h(n, 3, 5) + 1] AS INTEGER) AS CounterID,
  CAST(h(n, 4, {rows} // 5 + 1) * 37 - 100000 AS INTEGER) AS ClientIP,
  CAST(h(n, 5, 300) AS INTEGER) AS RegionID,
  CASE h(n, 6, 500) WHEN 0 THEN 435090932899640449 ELSE CAST(hash(h(n, 7, {rows} // 6 + 1)) >> 1 AS BIGINT) END AS UserID,
  concat(['http://', 'https://www.', 'https://'][h(n, 8, 3) + 1], hosts[h(n, 9, 6) + 1], '/page/', h(n, 10, {rows} // 20 + 3),
    '?q=', h(n, 11, 7)) AS URL,
  CASE WHEN h(n, 12, 3) = 0 THEN '' ELSE concat(['http://', 'https://www.'][h(n, 13, 2) + 1], hosts[h(n, 14, 6) + 1],
    '/from/', h(n, 15, 97)) END AS Referer,
  CAST(h(n, 16, 20) = 0 AS SMALLINT) AS IsRefresh, CAST([1024, 1280, 1366, 1920, 0][h(n, 17, 5) + 1] AS SMALLINT) AS ResolutionWidth,
  CASE WHEN h(n, 18, 4) > 0 THEN '' ELSE ['iPad', 'iPhone', 'Nexus', 'Galaxy'][h(n, 19, 4) + 1] END AS MobilePhoneModel,
  CAST(h(n, 20, 6) AS SMALLINT) AS MobilePhone, CAST(h(n, 21, 8) - 1 AS SMALLINT) AS TraficSourceID,
  CAST(h(n, 22, 5) AS SMALLINT) AS SearchEngineID,
  CASE WHEN h(n, 23, 3) > 0 THEN '' ELSE words[h(n, 24, 8) + 1] || ' ' || words[h(n, 25, 8) + 1] || ' ' || h(n, 26, 40) END
    AS SearchPhrase,
  CAST(CASE WHEN h(n, 27, 20) = 0 THEN h(n, 28, 30) ELSE 0 END AS SMALLINT) AS AdvEngineID,
  CAST(h(n, 29, 10) = 0 AS SMALLINT) AS IsLink, CAST(h(n, 30, 50) = 0 AS SMALLINT) AS IsDownload,
  CAST(h(n, 31, 30) = 0 AS SMALLINT) AS DontCountHits, CAST(800 + h(n, 32, 40) * 10 AS SMALLINT) AS WindowClientWidth,
  CAST(600 + h(n, 33, 30) * 10 AS SMALLINT) AS WindowClientHeight,
  [3594120000172545465, 1, 2][h(n, 34, 3) + 1] AS RefererHash, [2868770270353813622, 7, 8][h(n, 35, 3) + 1] AS URLHash
  FROM range({rows}) t(n), (SELECT ['', 'Google Maps', 'Новости', 'News', 'Weather', 'the Google', 'Kurs', 'Music', 'Buy',
    'Sell', 'Films', 'Home'] AS titles, ['example.com', 'google.com', 'mail.ru', 'maps.google.de', 'a.org', 'b.net'] AS hosts,
    ['buy', 'карта', 'weather', 'film', 'music', 'news', 'car', 'house'] AS words);
