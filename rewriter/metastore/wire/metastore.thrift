// The Thrift interface of the Hive metastore, as far as this server has it: the names and numbers of its methods and
// fields are those of Hive. `interface.py` reads this file; the Thrift compiler takes it, too.
//
// Fields from 101 on are ours, and optional: old clients do not send them, and skip them. `validWriteIdList` is the
// text of the write ids that the caller sees (seed 001), and `cluster` names a cluster (seed 004).

exception MetaException {
  1: string message
}

struct PrivilegeGrantInfo {
  1: string privilege
  2: i32 createTime
  3: string grantor
  4: i32 grantorType
  5: bool grantOption
}

struct PrincipalPrivilegeSet {
  1: map<string, list<PrivilegeGrantInfo>> userPrivileges
  2: map<string, list<PrivilegeGrantInfo>> groupPrivileges
  3: map<string, list<PrivilegeGrantInfo>> rolePrivileges
}

struct Catalog {
  1: string name
  2: string description
  3: string locationUri
}

struct GetCatalogRequest {
  1: string name
}

struct GetCatalogResponse {
  1: Catalog catalog
}

struct GetCatalogsResponse {
  1: list<string> names
}

struct Database {
  1: string name
  2: string description
  3: string locationUri
  4: map<string, string> parameters
  5: PrincipalPrivilegeSet privileges
  6: string ownerName
  7: i32 ownerType
  8: string catalogName
}

exception NoSuchObjectException {
  1: string message
}

exception AlreadyExistsException {
  1: string message
}

exception InvalidObjectException {
  1: string message
}

exception InvalidOperationException {
  1: string message
}

struct FieldSchema {
  1: string name
  2: string type
  3: string comment
}

struct SerDeInfo {
  1: string name
  2: string serializationLib
  3: map<string, string> parameters
  4: string description
  5: string serializerClass
  6: string deserializerClass
  7: i32 serdeType
}

struct Order {
  1: string col
  2: i32 order
}

struct SkewedInfo {
  1: list<string> skewedColNames
  2: list<list<string>> skewedColValues
  3: map<list<string>, string> skewedColValueLocationMaps
}

// A cluster that has the table or partition, and the directory there (seed 004).
struct ClusterDescriptor {
  1: string clusterName
  2: string location
}

struct StorageDescriptor {
  1: list<FieldSchema> cols
  2: string location
  3: string inputFormat
  4: string outputFormat
  5: bool compressed
  6: i32 numBuckets
  7: SerDeInfo serdeInfo
  8: list<string> bucketCols
  9: list<Order> sortCols
  10: map<string, string> parameters
  11: SkewedInfo skewedInfo
  12: bool storedAsSubDirectories
  101: optional ClusterDescriptor primaryCluster
  102: optional list<ClusterDescriptor> secondaryClusters
}

struct CreationMetadata {
  1: string catName
  2: string dbName
  3: string tblName
  4: set<string> tablesUsed
  5: string validTxnList
  6: i64 materializationTime
}

struct Table {
  1: string tableName
  2: string dbName
  3: string owner
  4: i32 createTime
  5: i32 lastAccessTime
  6: i32 retention
  7: StorageDescriptor sd
  8: list<FieldSchema> partitionKeys
  9: map<string, string> parameters
  10: string viewOriginalText
  11: string viewExpandedText
  12: string tableType
  13: PrincipalPrivilegeSet privileges
  14: bool temporary
  15: bool rewriteEnabled
  16: CreationMetadata creationMetadata
  17: string catName
  18: i32 ownerType
  19: i64 writeId
}

struct GetTableResult {
  1: Table table
}

struct ClientCapabilities {
  1: list<i32> values
}

struct GetTableRequest {
  1: string dbName
  2: string tblName
  3: ClientCapabilities capabilities
  4: string catName
  101: optional string validWriteIdList
  102: optional string cluster
}

struct GetTablesResult {
  1: list<Table> tables
}

exception UnknownDBException {
  1: string message
}

struct GetTablesRequest {
  1: string dbName
  2: list<string> tblNames
  3: ClientCapabilities capabilities
  4: string catName
  101: optional string validWriteIdList
  102: optional string cluster
}

struct TableMeta {
  1: string dbName
  2: string tableName
  3: string tableType
  4: string comments
  5: string catName
}

exception UnknownTableException {
  1: string message
}

struct EnvironmentContext {
  1: map<string, string> properties
}

struct Partition {
  1: list<string> values
  2: string dbName
  3: string tableName
  4: i32 createTime
  5: i32 lastAccessTime
  6: StorageDescriptor sd
  7: map<string, string> parameters
  8: PrincipalPrivilegeSet privileges
  9: string catName
  10: i64 writeId
}

struct PartitionsByExprResult {
  1: list<Partition> partitions
  2: bool hasUnknownPartitions
}

struct PartitionsByExprRequest {
  1: string dbName
  2: string tblName
  3: binary expr
  4: string defaultPartitionName
  5: i16 maxParts
  6: string catName
  101: optional string validWriteIdList
  102: optional string cluster
}

struct AddPartitionsResult {
  1: list<Partition> partitions
}

struct AddPartitionsRequest {
  1: string dbName
  2: string tblName
  3: list<Partition> parts
  4: bool ifNotExists
  5: bool needResult
  6: string catName
  101: optional string validWriteIdList
  102: optional string cluster
}

struct AlterPartitionsRequest {
  1: string catName
  2: string dbName
  3: string tableName
  4: list<Partition> partitions
  5: EnvironmentContext environmentContext
  6: i64 writeId
  7: string validWriteIdList
  102: optional string cluster
}

struct AlterPartitionsResponse {
}

struct PartitionValuesRequest {
  1: string dbName
  2: string tblName
  3: list<FieldSchema> partitionKeys
  4: bool applyDistinct
  5: string filter
  6: list<FieldSchema> partitionOrder
  7: bool ascending
  8: i64 maxParts
  9: string catName
  101: optional string validWriteIdList
  102: optional string cluster
}

struct PartitionValuesRow {
  1: list<string> row
}

struct PartitionValuesResponse {
  1: list<PartitionValuesRow> partitionValues
}

// Indexes are those of Hive 2. No table has any.
struct Index {
  1: string indexName
  2: string indexHandlerClass
  3: string dbName
  4: string origTableName
  5: i32 createTime
  6: i32 lastAccessTime
  7: string indexTableName
  8: StorageDescriptor sd
  9: map<string, string> parameters
  10: bool deferredRebuild
}

struct DropPartitionsResult {
  1: list<Partition> partitions
}

struct DropPartitionsExpr {
  1: binary expr
  2: i32 partArchiveLevel
}

union RequestPartsSpec {
  1: list<string> names
  2: list<DropPartitionsExpr> exprs
}

struct DropPartitionsRequest {
  1: string dbName
  2: string tblName
  3: RequestPartsSpec parts
  4: bool deleteData
  5: bool ifExists
  6: bool ignoreProtection
  7: EnvironmentContext environmentContext
  8: bool needResult
  9: string catName
  101: optional string validWriteIdList
  102: optional string cluster
}

struct ResourceUri {
  1: i32 resourceType
  2: string uri
}

struct Function {
  1: string functionName
  2: string dbName
  3: string className
  4: string ownerName
  5: i32 ownerType
  6: i32 createTime
  7: i32 functionType
  8: list<ResourceUri> resourceUris
  9: string catName
}

struct GetAllFunctionsResponse {
  1: list<Function> functions
}

struct BooleanColumnStatsData {
  1: i64 numTrues
  2: i64 numFalses
  3: i64 numNulls
  4: binary bitVectors
}

struct LongColumnStatsData {
  1: i64 lowValue
  2: i64 highValue
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
}

struct DoubleColumnStatsData {
  1: double lowValue
  2: double highValue
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
}

struct StringColumnStatsData {
  1: i64 maxColLen
  2: double avgColLen
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
}

struct BinaryColumnStatsData {
  1: i64 maxColLen
  2: double avgColLen
  3: i64 numNulls
  4: binary bitVectors
}

struct Decimal {
  1: binary unscaled
  3: i16 scale
}

struct DecimalColumnStatsData {
  1: Decimal lowValue
  2: Decimal highValue
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
}

struct Date {
  1: i64 daysSinceEpoch
}

struct DateColumnStatsData {
  1: Date lowValue
  2: Date highValue
  3: i64 numNulls
  4: i64 numDVs
  5: binary bitVectors
}

union ColumnStatisticsData {
  1: BooleanColumnStatsData booleanStats
  2: LongColumnStatsData longStats
  3: DoubleColumnStatsData doubleStats
  4: StringColumnStatsData stringStats
  5: BinaryColumnStatsData binaryStats
  6: DecimalColumnStatsData decimalStats
  7: DateColumnStatsData dateStats
}

struct ColumnStatisticsObj {
  1: string colName
  2: string colType
  3: ColumnStatisticsData statsData
}

struct TableStatsResult {
  1: list<ColumnStatisticsObj> tableStats
}

struct TableStatsRequest {
  1: string dbName
  2: string tblName
  3: list<string> colNames
  4: string catName
  101: optional string validWriteIdList
  102: optional string cluster
}

struct PartitionsStatsResult {
  1: map<string, list<ColumnStatisticsObj>> partStats
}

struct PartitionsStatsRequest {
  1: string dbName
  2: string tblName
  3: list<string> colNames
  4: list<string> partNames
  5: string catName
  101: optional string validWriteIdList
  102: optional string cluster
}

struct ColumnStatisticsDesc {
  1: bool isTblLevel
  2: string dbName
  3: string tableName
  4: string partName
  5: i64 lastAnalyzed
  6: string catName
}

struct ColumnStatistics {
  1: ColumnStatisticsDesc statsDesc
  2: list<ColumnStatisticsObj> statsObj
}

exception InvalidInputException {
  1: string message
}

struct AggrStats {
  1: list<ColumnStatisticsObj> colStats
  2: i64 partsFound
}

struct SetPartitionsStatsRequest {
  1: list<ColumnStatistics> colStats
  2: bool needMerge
  3: i64 writeId
  4: string validWriteIdList
  102: optional string cluster
}

struct GetOpenTxnsResponse {
  1: i64 txn_high_water_mark
  2: list<i64> open_txns
  3: i64 min_open_txn
  4: binary abortedBits
}

struct TxnInfo {
  1: i64 id
  2: i32 state
  3: string user
  4: string hostname
  5: string agentInfo
  6: i32 heartbeatCount
  7: string metaInfo
  8: i64 startedTime
  9: i64 lastHeartbeatTime
}

struct GetOpenTxnsInfoResponse {
  1: i64 txn_high_water_mark
  2: list<TxnInfo> open_txns
}

struct OpenTxnsResponse {
  1: list<i64> txn_ids
}

struct OpenTxnRequest {
  1: i32 num_txns
  2: string user
  3: string hostname
  4: string agentInfo
  5: string replPolicy
  6: list<i64> replSrcTxnIds
}

exception NoSuchTxnException {
  1: string message
}

struct AbortTxnRequest {
  1: i64 txnid
  2: string replPolicy
}

struct AbortTxnsRequest {
  1: list<i64> txn_ids
}

exception TxnAbortedException {
  1: string message
}

struct CommitTxnRequest {
  1: i64 txnid
  2: string replPolicy
}

struct TableValidWriteIds {
  1: string fullTableName
  2: i64 writeIdHighWaterMark
  3: list<i64> invalidWriteIds
  4: i64 minOpenWriteId
  5: binary abortedBits
}

struct GetValidWriteIdsResponse {
  1: list<TableValidWriteIds> tblValidWriteIds
}

struct GetValidWriteIdsRequest {
  1: list<string> fullTableNames
  2: string validTxnList
}

struct TxnToWriteId {
  1: i64 txnId
  2: i64 writeId
}

struct AllocateTableWriteIdsResponse {
  1: list<TxnToWriteId> txnToWriteIds
}

struct AllocateTableWriteIdsRequest {
  1: string dbName
  2: string tableName
  3: list<i64> txnIds
  4: string replPolicy
  5: list<TxnToWriteId> srcTxnToWriteIdList
}

struct LockResponse {
  1: i64 lockid
  2: i32 state
}

struct LockComponent {
  1: i32 type
  2: i32 level
  3: string dbname
  4: string tablename
  5: string partitionname
  6: i32 operationType
  7: bool isTransactional
  8: bool isDynamicPartitionWrite
}

struct LockRequest {
  1: list<LockComponent> component
  2: i64 txnid
  3: string user
  4: string hostname
  5: string agentInfo
}

exception NoSuchLockException {
  1: string message
}

struct CheckLockRequest {
  1: i64 lockid
  2: i64 txnid
  3: i64 elapsed_ms
}

exception TxnOpenException {
  1: string message
}

struct UnlockRequest {
  1: i64 lockid
}

struct ShowLocksResponseElement {
  1: i64 lockid
  2: string dbname
  3: string tablename
  4: string partname
  5: i32 state
  6: i32 type
  7: i64 txnid
  8: i64 lastheartbeat
  9: i64 acquiredat
  10: string user
  11: string hostname
  12: i32 heartbeatCount
  13: string agentInfo
  14: i64 blockedByExtId
  15: i64 blockedByIntId
  16: i64 lockIdInternal
}

struct ShowLocksResponse {
  1: list<ShowLocksResponseElement> locks
}

struct ShowLocksRequest {
  1: string dbname
  2: string tablename
  3: string partname
  4: bool isExtended
}

struct HeartbeatRequest {
  1: i64 lockid
  2: i64 txnid
}

struct HeartbeatTxnRangeResponse {
  1: set<i64> aborted
  2: set<i64> nosuch
}

struct HeartbeatTxnRangeRequest {
  1: i64 min
  2: i64 max
}

struct NotificationEvent {
  1: i64 eventId
  2: i32 eventTime
  3: string eventType
  4: string dbName
  5: string tableName
  6: string message
  7: string messageFormat
  8: string catName
}

struct NotificationEventResponse {
  1: list<NotificationEvent> events
}

struct NotificationEventRequest {
  1: i64 lastEvent
  2: i32 maxEvents
}

struct CurrentNotificationEventId {
  1: i64 eventId
}

struct NotificationEventsCountResponse {
  1: i64 eventsCount
}

struct NotificationEventsCountRequest {
  1: i64 fromEventId
  2: string dbName
  3: string catName
}

struct Role {
  1: string roleName
  2: i32 createTime
  3: string ownerName
}

struct HiveObjectRef {
  1: i32 objectType
  2: string dbName
  3: string objectName
  4: list<string> partValues
  5: string columnName
  6: string catName
}

struct HiveObjectPrivilege {
  1: HiveObjectRef hiveObject
  2: string principalName
  3: i32 principalType
  4: PrivilegeGrantInfo grantInfo
  5: string authorizer
}

exception ConfigValSecurityException {
  1: string message
}

// The service that all Thrift servers of Hive have.
service FacebookService {
  string getName()
  string getVersion()
  i32 getStatus()
  map<string, i64> getCounters()
  i64 getCounter(1: string key)
  i64 aliveSince()
  oneway void shutdown()
}

service ThriftHiveMetastore extends FacebookService {
  // The session of a client.
  list<string> set_ugi(1: string user_name, 2: list<string> group_names) throws (1: MetaException o1)

  string getMetaConf(1: string key) throws (1: MetaException o1)
  void setMetaConf(1: string key, 2: string value) throws (1: MetaException o1)

  // Catalogs.
  GetCatalogResponse get_catalog(
    1: GetCatalogRequest catName
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  GetCatalogsResponse get_catalogs() throws (1: MetaException o1)

  // Databases.
  list<string> get_databases(1: string pattern) throws (1: MetaException o1)
  list<string> get_all_databases() throws (1: MetaException o1)
  Database get_database(1: string name) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void create_database(
    1: Database database
  ) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3)
  void alter_database(1: string dbname, 2: Database db) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  void drop_database(
    1: string name, 2: bool deleteData, 3: bool cascade
  ) throws (1: NoSuchObjectException o1, 2: InvalidOperationException o2, 3: MetaException o3)

  // Tables.
  Table get_table(
    1: string dbname, 2: string tbl_name, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<string> get_tables(1: string db_name, 2: string pattern) throws (1: MetaException o1)
  list<string> get_all_tables(1: string db_name) throws (1: MetaException o1)
  list<string> get_tables_by_type(
    1: string db_name, 2: string pattern, 3: string tableType
  ) throws (1: MetaException o1)
  list<Table> get_table_objects_by_name(
    1: string dbname, 2: list<string> tbl_names, 101: optional string validWriteIdList, 102: optional string
    cluster
  )
  GetTableResult get_table_req(1: GetTableRequest req) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  GetTablesResult get_table_objects_by_name_req(
    1: GetTablesRequest req
  ) throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  list<TableMeta> get_table_meta(
    1: string db_patterns, 2: string tbl_patterns, 3: list<string> tbl_types
  ) throws (1: MetaException o1)
  list<FieldSchema> get_fields(
    1: string db_name, 2: string table_name, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  list<FieldSchema> get_fields_with_environment_context(
    1: string db_name, 2: string table_name, 3: EnvironmentContext environment_context, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  list<FieldSchema> get_schema(
    1: string db_name, 2: string table_name, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  list<FieldSchema> get_schema_with_environment_context(
    1: string db_name, 2: string table_name, 3: EnvironmentContext environment_context, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: MetaException o1, 2: UnknownTableException o2, 3: UnknownDBException o3)
  list<string> get_table_names_by_filter(
    1: string dbname, 2: string filter, 3: i16 max_tables
  ) throws (1: MetaException o1, 2: InvalidOperationException o2, 3: UnknownDBException o3)
  void create_table(
    1: Table tbl, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void create_table_with_environment_context(
    1: Table tbl, 2: EnvironmentContext environment_context, 101: optional string validWriteIdList, 102: optional
    string cluster
  ) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void alter_table(
    1: string dbname, 2: string tbl_name, 3: Table new_tbl, 101: optional string validWriteIdList, 102: optional
    string cluster
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_table_with_environment_context(
    1: string dbname, 2: string tbl_name, 3: Table new_tbl, 4: EnvironmentContext environment_context, 101:
    optional string validWriteIdList, 102: optional string cluster
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_table_with_cascade(
    1: string dbname, 2: string tbl_name, 3: Table new_tbl, 4: bool cascade, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void drop_table(
    1: string dbname, 2: string name, 3: bool deleteData, 101: optional string validWriteIdList, 102: optional
    string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o3)
  void drop_table_with_environment_context(
    1: string dbname, 2: string name, 3: bool deleteData, 4: EnvironmentContext environment_context, 101: optional
    string validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o3)
  void truncate_table(
    1: string dbName, 2: string tableName, 3: list<string> partNames, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: MetaException o1)

  // Indexes.
  list<Index> get_indexes(
    1: string db_name, 2: string tbl_name, 3: i16 max_indexes
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_index_names(1: string db_name, 2: string tbl_name, 3: i16 max_indexes) throws (1: MetaException o2)

  // Partitions.
  Partition get_partition(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Partition get_partition_with_auth(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: string user_name, 5: list<string>
    group_names, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Partition get_partition_by_name(
    1: string db_name, 2: string tbl_name, 3: string part_name, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions(
    1: string db_name, 2: string tbl_name, 3: i16 max_parts, 101: optional string validWriteIdList, 102: optional
    string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<Partition> get_partitions_with_auth(
    1: string db_name, 2: string tbl_name, 3: i16 max_parts, 4: string user_name, 5: list<string> group_names,
    101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<Partition> get_partitions_ps(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: i16 max_parts, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_ps_with_auth(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: i16 max_parts, 5: string user_name, 6:
    list<string> group_names, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_partition_names(
    1: string db_name, 2: string tbl_name, 3: i16 max_parts, 101: optional string validWriteIdList, 102: optional
    string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  list<string> get_partition_names_ps(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: i16 max_parts, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_by_filter(
    1: string db_name, 2: string tbl_name, 3: string filter, 4: i16 max_parts, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  i32 get_num_partitions_by_filter(
    1: string db_name, 2: string tbl_name, 3: string filter, 101: optional string validWriteIdList, 102: optional
    string cluster
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<Partition> get_partitions_by_names(
    1: string db_name, 2: string tbl_name, 3: list<string> names, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  PartitionValuesResponse get_partition_values(
    1: PartitionValuesRequest request
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  PartitionsByExprResult get_partitions_by_expr(
    1: PartitionsByExprRequest req
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  Partition add_partition(
    1: Partition new_part, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  Partition add_partition_with_environment_context(
    1: Partition new_part, 2: EnvironmentContext environment_context, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  i32 add_partitions(
    1: list<Partition> new_parts, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  AddPartitionsResult add_partitions_req(
    1: AddPartitionsRequest request
  ) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  Partition append_partition(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  Partition append_partition_with_environment_context(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: EnvironmentContext environment_context,
    101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  Partition append_partition_by_name(
    1: string db_name, 2: string tbl_name, 3: string part_name, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: InvalidObjectException o1, 2: AlreadyExistsException o2, 3: MetaException o3)
  bool drop_partition(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: bool deleteData, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  bool drop_partition_with_environment_context(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: bool deleteData, 5: EnvironmentContext
    environment_context, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  bool drop_partition_by_name(
    1: string db_name, 2: string tbl_name, 3: string part_name, 4: bool deleteData, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  DropPartitionsResult drop_partitions_req(
    1: DropPartitionsRequest req
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  void alter_partition(
    1: string db_name, 2: string tbl_name, 3: Partition new_part, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_partition_with_environment_context(
    1: string db_name, 2: string tbl_name, 3: Partition new_part, 4: EnvironmentContext environment_context, 101:
    optional string validWriteIdList, 102: optional string cluster
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_partitions(
    1: string db_name, 2: string tbl_name, 3: list<Partition> new_parts, 101: optional string validWriteIdList,
    102: optional string cluster
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void alter_partitions_with_environment_context(
    1: string db_name, 2: string tbl_name, 3: list<Partition> new_parts, 4: EnvironmentContext
    environment_context, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)
  AlterPartitionsResponse alter_partitions_req(
    1: AlterPartitionsRequest req
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)
  void rename_partition(
    1: string db_name, 2: string tbl_name, 3: list<string> part_vals, 4: Partition new_part, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)
  list<string> partition_name_to_vals(1: string part_name) throws (1: MetaException o1)
  map<string, string> partition_name_to_spec(1: string part_name) throws (1: MetaException o1)

  // Functions.
  Function get_function(
    1: string dbName, 2: string funcName
  ) throws (1: MetaException o1, 2: NoSuchObjectException o2)
  list<string> get_functions(1: string dbName, 2: string pattern) throws (1: MetaException o1)
  GetAllFunctionsResponse get_all_functions() throws (1: MetaException o1)
  void create_function(
    1: Function func
  ) throws (1: AlreadyExistsException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: NoSuchObjectException o4)
  void drop_function(1: string dbName, 2: string funcName) throws (1: NoSuchObjectException o1, 2: MetaException o3)
  void alter_function(
    1: string dbName, 2: string funcName, 3: Function newFunc
  ) throws (1: InvalidOperationException o1, 2: MetaException o2)

  // Column statistics.
  TableStatsResult get_table_statistics_req(
    1: TableStatsRequest request
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  PartitionsStatsResult get_partitions_statistics_req(
    1: PartitionsStatsRequest request
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  ColumnStatistics get_table_column_statistics(
    1: string db_name, 2: string tbl_name, 3: string col_name, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidInputException o3, 4: InvalidObjectException o4)
  ColumnStatistics get_partition_column_statistics(
    1: string db_name, 2: string tbl_name, 3: string part_name, 4: string col_name, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidInputException o3, 4: InvalidObjectException o4)
  bool update_table_column_statistics(
    1: ColumnStatistics stats_obj, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  bool update_partition_column_statistics(
    1: ColumnStatistics stats_obj, 101: optional string validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)
  bool delete_table_column_statistics(
    1: string db_name, 2: string tbl_name, 3: string col_name, 101: optional string validWriteIdList, 102:
    optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)
  bool delete_partition_column_statistics(
    1: string db_name, 2: string tbl_name, 3: string part_name, 4: string col_name, 101: optional string
    validWriteIdList, 102: optional string cluster
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2, 3: InvalidObjectException o3, 4: InvalidInputException o4)
  AggrStats get_aggr_stats_for(
    1: PartitionsStatsRequest request
  ) throws (1: NoSuchObjectException o1, 2: MetaException o2)
  bool set_aggr_stats_for(
    1: SetPartitionsStatsRequest request
  ) throws (1: NoSuchObjectException o1, 2: InvalidObjectException o2, 3: MetaException o3, 4: InvalidInputException o4)

  // Transactions, write ids and locks.
  GetOpenTxnsResponse get_open_txns()
  GetOpenTxnsInfoResponse get_open_txns_info()
  OpenTxnsResponse open_txns(1: OpenTxnRequest rqst)
  void abort_txn(1: AbortTxnRequest rqst) throws (1: NoSuchTxnException o1)
  void abort_txns(1: AbortTxnsRequest rqst) throws (1: NoSuchTxnException o1)
  void commit_txn(1: CommitTxnRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)
  GetValidWriteIdsResponse get_valid_write_ids(
    1: GetValidWriteIdsRequest rqst
  ) throws (1: NoSuchTxnException o1, 2: MetaException o2)
  AllocateTableWriteIdsResponse allocate_table_write_ids(
    1: AllocateTableWriteIdsRequest rqst
  ) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2, 3: MetaException o3)
  LockResponse lock(1: LockRequest rqst) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2)
  LockResponse check_lock(
    1: CheckLockRequest rqst
  ) throws (1: NoSuchTxnException o1, 2: TxnAbortedException o2, 3: NoSuchLockException o3)
  void unlock(1: UnlockRequest rqst) throws (1: NoSuchLockException o1, 2: TxnOpenException o2)
  ShowLocksResponse show_locks(1: ShowLocksRequest rqst)
  void heartbeat(
    1: HeartbeatRequest ids
  ) throws (1: NoSuchLockException o1, 2: NoSuchTxnException o2, 3: TxnAbortedException o3)
  HeartbeatTxnRangeResponse heartbeat_txn_range(1: HeartbeatTxnRangeRequest txns)

  // Notifications.
  NotificationEventResponse get_next_notification(1: NotificationEventRequest rqst)
  CurrentNotificationEventId get_current_notificationEventId()
  NotificationEventsCountResponse get_notification_events_count(1: NotificationEventsCountRequest rqst)

  // Roles and settings.
  list<Role> list_roles(1: string principal_name, 2: i32 principal_type) throws (1: MetaException o1)
  list<string> get_role_names() throws (1: MetaException o1)
  list<HiveObjectPrivilege> list_privileges(
    1: string principal_name, 2: i32 principal_type, 3: HiveObjectRef hiveObject
  ) throws (1: MetaException o1)
  PrincipalPrivilegeSet get_privilege_set(
    1: HiveObjectRef hiveObject, 2: string user_name, 3: list<string> group_names
  ) throws (1: MetaException o1)
  string get_config_value(1: string name, 2: string defaultValue) throws (1: ConfigValSecurityException o1)
}
