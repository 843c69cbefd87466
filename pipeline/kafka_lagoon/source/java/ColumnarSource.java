package kafkalagoon;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.arrow.vector.BaseFixedWidthVector;
import org.apache.arrow.vector.BaseVariableWidthVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.execution.datasources.v2.python.PythonBatch;
import org.apache.spark.sql.execution.datasources.v2.python.PythonCustomMetric;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonInputPartition;
import org.apache.spark.sql.execution.datasources.v2.python.PythonPartitionReaderFactory;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScanBuilder;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.python.ArrowPythonRunner;
import org.apache.spark.sql.execution.python.MapInBatchEvaluatorFactory;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Reads batches of the Python data source `lagoon_python` as columns: the Arrow batches of its tasks go to Spark as they are, and only
 * the columns that a query needs are asked for.
 *
 * <p>Spark itself turns each row of a Python source into a row twice, and tells the source no columns. Planning, filters, writing and
 * streams are Spark's. The classes that this rests on are internal to Spark 4.2, so register_source uses it on that release alone.
 * Janino compiles this file: it has no lambdas, and generic types only where no method of them is implemented.
 */
public class ColumnarSource extends PythonDataSourceV2 implements DataSourceRegister {
  private static final String NAME = "lagoon";
  private static final String IN_PYTHON = "lagoon_python";
  private ColumnarSource table;

  /**
   * A source for one scan. Spark keeps the plan of a Python source, with its filters, in the source, and takes it for every scan of a
   * DataFrame, whatever the filters of that scan are.
   */
  ColumnarSource ofOneScan() {
    ColumnarSource one = new ColumnarSource();
    one.setShortName(IN_PYTHON);
    one.table = this;
    return one;
  }

  public UserDefinedPythonDataSource source() {
    return table == null ? super.source() : table.source();
  }

  /** The Python source of the DataFrame: making it starts a process. */
  public PythonDataSourceCreationResult getOrCreateDataSourceInPython(
      String name, CaseInsensitiveStringMap options, Option schema) {
    return table == null
        ? super.getOrCreateDataSourceInPython(name, options, schema)
        : table.getOrCreateDataSourceInPython(name, options, schema);
  }

  public String shortName() {
    return NAME;
  }

  /** Spark gives every Python source its name, once. */
  public void setShortName(String ignored) {
    super.setShortName(IN_PYTHON);
  }

  public Table getTable(StructType schema, Transform[] partitioning, Map properties) {
    return new ColumnarTable(this, schema);
  }

  /** A table whose batches are read as columns. */
  static final class ColumnarTable extends PythonTable {
    private final ColumnarSource source;
    private final StructType schema;

    ColumnarTable(ColumnarSource source, StructType schema) {
      super(source, IN_PYTHON, schema);
      this.source = source;
      this.schema = schema;
    }

    public String name() {
      return NAME;
    }

    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return new Builder(source.ofOneScan(), schema, options);
    }
  }

  /** Takes the columns of a query beside its filters. */
  static final class Builder extends PythonScanBuilder implements SupportsPushDownRequiredColumns {
    private final ColumnarSource source;
    private final StructType schema;
    private final CaseInsensitiveStringMap options;
    private StructType needed;

    Builder(ColumnarSource source, StructType schema, CaseInsensitiveStringMap options) {
      super(source, IN_PYTHON, schema, options);
      this.source = source;
      this.schema = schema;
      this.options = options;
      this.needed = schema;
    }

    /** Whole columns of the schema: parts of nested columns are not left out. */
    public void pruneColumns(StructType columns) {
      Set names = new HashSet(Arrays.asList(columns.fieldNames()));
      needed = new StructType();
      for (StructField field : schema.fields()) {
        if (names.contains(field.name())) {
          needed = needed.add(field);
        }
      }
    }

    public Scan build() {
      return new ColumnarScan(source, schema, options, pushedFilters(), needed);
    }
  }

  /** A scan of batches by columns, and of streams by rows. */
  static final class ColumnarScan extends PythonScan {
    private final ColumnarSource source;
    private final StructType schema;
    private final CaseInsensitiveStringMap options;
    private final StructType needed;
    private boolean isStream;

    ColumnarScan(
        ColumnarSource source, StructType schema, CaseInsensitiveStringMap options, Filter[] filters, StructType needed) {
      super(source, IN_PYTHON, schema, options, filters);
      this.source = source;
      this.schema = schema;
      this.options = options;
      this.needed = needed;
    }

    public StructType readSchema() {
      return needed;
    }

    public Scan.ColumnarSupportMode columnarSupportMode() {
      return isStream ? Scan.ColumnarSupportMode.UNSUPPORTED : Scan.ColumnarSupportMode.SUPPORTED;
    }

    public Batch toBatch() {
      return new Columns(new PythonBatch(source, IN_PYTHON, schema, options), needed);
    }

    public MicroBatchStream toMicroBatchStream(String checkpointLocation) {
      isStream = true;
      return super.toMicroBatchStream(checkpointLocation);
    }
  }

  /** A batch of Spark's whose tasks are told the columns that are needed. */
  static final class Columns implements Batch {
    private final PythonBatch rows;
    private final StructType needed;

    Columns(PythonBatch rows, StructType needed) {
      this.rows = rows;
      this.needed = needed;
    }

    public InputPartition[] planInputPartitions() {
      InputPartition[] planned = rows.planInputPartitions();
      byte[] names = String.join("\n", needed.fieldNames()).getBytes(StandardCharsets.UTF_8);
      InputPartition[] told = new InputPartition[planned.length];
      for (int i = 0; i < planned.length; i++) {
        PythonInputPartition one = (PythonInputPartition) planned[i];
        told[i] = new PythonInputPartition(one.index(), call(one.pickedPartition(), names));
      }
      return told;
    }

    public PartitionReaderFactory createReaderFactory() {
      return new Readers((PythonPartitionReaderFactory) rows.createReaderFactory(), needed);
    }

    /** The pickle of a call: kafka_lagoon.source.query.partition_of_columns(pickled, names). */
    private static byte[] call(byte[] pickled, byte[] names) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      put(out, "ckafka_lagoon.source.query\npartition_of_columns\n(".getBytes(StandardCharsets.US_ASCII));
      out.write('B');
      put(out, length(pickled));
      put(out, pickled);
      out.write('X');
      put(out, length(names));
      put(out, names);
      put(out, "tR.".getBytes(StandardCharsets.US_ASCII));
      return out.toByteArray();
    }

    private static void put(ByteArrayOutputStream out, byte[] bytes) {
      out.write(bytes, 0, bytes.length);
    }

    private static byte[] length(byte[] bytes) {
      int size = bytes.length;
      return new byte[] {(byte) size, (byte) (size >>> 8), (byte) (size >>> 16), (byte) (size >>> 24)};
    }
  }

  /** Starts the Python task of a partition, on an executor. */
  static final class Readers implements PartitionReaderFactory {
    private final PythonPartitionReaderFactory rows;
    private final StructType needed;

    Readers(PythonPartitionReaderFactory rows, StructType needed) {
      this.rows = rows;
      this.needed = needed;
    }

    public boolean supportColumnarReads(InputPartition partition) {
      return true;
    }

    public PartitionReader createReader(InputPartition partition) {
      throw new UnsupportedOperationException("partitions of this source are read as columns");
    }

    public PartitionReader createColumnarReader(InputPartition partition) {
      return new Reader(rows, needed, (PythonInputPartition) partition);
    }
  }

  /** The Arrow batches of a task, without the columns that nobody needs. */
  static final class Reader implements PartitionReader {
    private final UserDefinedPythonDataSource source;
    private final scala.collection.immutable.Map metrics = newMetrics();
    private final Iterator batches;
    private final StructType schema;
    private final int[] places;
    private ColumnarBatch current;

    Reader(PythonPartitionReaderFactory rows, StructType needed, PythonInputPartition partition) {
      source = rows.org$apache$spark$sql$execution$datasources$v2$python$PythonPartitionReaderFactory$$source;
      schema = rows.org$apache$spark$sql$execution$datasources$v2$python$PythonPartitionReaderFactory$$outputSchema;
      String[] names = needed.fieldNames();
      places = new int[names.length];
      for (int i = 0; i < names.length; i++) {
        places[i] = schema.fieldIndex(names[i]);
      }
      MapInBatchEvaluatorFactory task =
          source.createMapInBatchEvaluatorFactory(
              rows.org$apache$spark$sql$execution$datasources$v2$python$PythonPartitionReaderFactory$$pickledReadFunc,
              "read_from_data_source",
              UserDefinedPythonDataSource.readInputSchema(),
              schema,
              metrics,
              rows.org$apache$spark$sql$execution$datasources$v2$python$PythonPartitionReaderFactory$$jobArtifactUUID,
              rows.org$apache$spark$sql$execution$datasources$v2$python$PythonPartitionReaderFactory$$sessionUUID);
      batches = started(task, partition);
    }

    /** What MapInBatchEvaluatorFactory does before it makes rows. */
    private static Iterator started(MapInBatchEvaluatorFactory task, PythonInputPartition partition) {
      DataType input = task.org$apache$spark$sql$execution$python$MapInBatchEvaluatorFactory$$inputSchema;
      ArrowPythonRunner runner =
          new ArrowPythonRunner(
              task.org$apache$spark$sql$execution$python$MapInBatchEvaluatorFactory$$chainedFunc,
              task.org$apache$spark$sql$execution$python$MapInBatchEvaluatorFactory$$pythonEvalType,
              new int[][] {{0}},
              new StructType().add("struct", input),
              task.org$apache$spark$sql$execution$python$MapInBatchEvaluatorFactory$$sessionLocalTimeZone,
              task.org$apache$spark$sql$execution$python$MapInBatchEvaluatorFactory$$largeVarTypes,
              task.org$apache$spark$sql$execution$python$MapInBatchEvaluatorFactory$$pythonRunnerConf,
              task.pythonMetrics(),
              task.org$apache$spark$sql$execution$python$MapInBatchEvaluatorFactory$$jobArtifactUUID,
              task.org$apache$spark$sql$execution$python$MapInBatchEvaluatorFactory$$sessionUUID);
      InternalRow row = InternalRow.fromSeq(only(partition.pickedPartition()));
      Iterator rows = only(InternalRow.fromSeq(only(row))).iterator();
      TaskContext context = TaskContext.get();
      return runner.compute(only(rows).iterator(), context.partitionId(), context);
    }

    private static Seq only(Object one) {
      return CollectionConverters.asScala(Collections.singletonList(one)).toSeq();
    }

    public boolean next() {
      if (!batches.hasNext()) {
        return false;
      }
      ColumnarBatch batch = (ColumnarBatch) batches.next();
      ArrowColumnVector struct = (ArrowColumnVector) batch.column(0);
      if (!DataType$.MODULE$.equalsIgnoreCompatibleNullability(struct.dataType(), schema)) {
        throw new IllegalStateException("the task gave " + struct.dataType().sql() + ", not " + schema.sql());
      }
      ColumnVector[] columns = new ColumnVector[places.length];
      for (int i = 0; i < places.length; i++) {
        columns[i] = new OfBatch(struct.getChild(places[i]));
      }
      current = new ColumnarBatch(columns, batch.numRows());
      return true;
    }

    public Object get() {
      return current;
    }

    /** Metrics of this task: those that Spark has for Python sources are one for all tasks of a JVM, and only grow. */
    private static scala.collection.immutable.Map newMetrics() {
      Map made = new HashMap();
      for (Iterator names = PythonCustomMetric.pythonMetrics().keysIterator(); names.hasNext(); ) {
        made.put(names.next(), new SQLMetric("sum", 0L));
      }
      return immutable(made);
    }

    public CustomTaskMetric[] currentMetricsValues() {
      Map values = new HashMap();
      for (Iterator all = metrics.iterator(); all.hasNext(); ) {
        Tuple2 metric = (Tuple2) all.next();
        values.put(metric._1(), ((AccumulatorV2) metric._2()).value());
      }
      return source.createPythonTaskMetrics(immutable(values));
    }

    private static scala.collection.immutable.Map immutable(Map values) {
      return (scala.collection.immutable.Map) Map$.MODULE$.from(CollectionConverters.asScala(values));
    }

    public void close() {
      // The runner ends its worker when the task ends.
    }
  }

  /**
   * A column until the next batch: the next one is read into the same memory.
   *
   * <p>Arrow UDFs keep an ArrowColumnVector while they read on (ColumnarArrowEvalPythonExec believes that each batch has vectors of its
   * own), and copy the rows of every other kind. Numbers and bytes are read from memory without Arrow's checks of each access: Spark
   * asks for rows of the batch alone, and first whether they are null.
   */
  static final class OfBatch extends ColumnVector {
    private final ArrowColumnVector column;
    private final boolean mayBeNull;
    private final boolean hasBytes;
    private final long offsets;
    private final long data;

    OfBatch(ArrowColumnVector column) {
      super(column.dataType());
      this.column = column;
      mayBeNull = column.hasNull();
      ValueVector vector = column.getValueVector();
      hasBytes = vector instanceof BaseVariableWidthVector;
      offsets = hasBytes ? ((BaseVariableWidthVector) vector).getOffsetBufferAddress() : 0;
      data =
          hasBytes
              ? ((BaseVariableWidthVector) vector).getDataBufferAddress()
              : vector instanceof BaseFixedWidthVector ? ((BaseFixedWidthVector) vector).getDataBufferAddress() : 0;
    }

    public void close() {
      // The runner frees the memory when the task ends.
    }

    public boolean hasNull() {
      return mayBeNull;
    }

    public int numNulls() {
      return column.numNulls();
    }

    public boolean isNullAt(int row) {
      return mayBeNull && column.isNullAt(row);
    }

    public int getInt(int row) {
      return Platform.getInt(null, data + 4L * row);
    }

    public long getLong(int row) {
      return Platform.getLong(null, data + 8L * row);
    }

    public byte[] getBinary(int row) {
      if (!hasBytes || isNullAt(row)) {
        return column.getBinary(row);
      }
      long start = offset(row);
      byte[] bytes = new byte[(int) (offset(row + 1) - start)];
      Platform.copyMemory(null, data + start, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length);
      return bytes;
    }

    public UTF8String getUTF8String(int row) {
      if (!hasBytes || isNullAt(row)) {
        return column.getUTF8String(row);
      }
      long start = offset(row);
      return UTF8String.fromAddress(null, data + start, (int) (offset(row + 1) - start));
    }

    private long offset(int row) {
      return Platform.getInt(null, offsets + 4L * row);
    }

    public boolean getBoolean(int row) {
      return column.getBoolean(row);
    }

    public ColumnarArray getArray(int row) {
      return column.getArray(row);
    }

    public ColumnarMap getMap(int row) {
      return column.getMap(row);
    }

    public ColumnVector getChild(int ordinal) {
      return column.getChild(ordinal);
    }

    public byte getByte(int row) {
      return column.getByte(row);
    }

    public short getShort(int row) {
      return column.getShort(row);
    }

    public float getFloat(int row) {
      return column.getFloat(row);
    }

    public double getDouble(int row) {
      return column.getDouble(row);
    }

    public Decimal getDecimal(int row, int precision, int scale) {
      return column.getDecimal(row, precision, scale);
    }
  }
}
